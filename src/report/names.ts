import { isIP } from 'node:net';

/** Host names without their domain, where that still tells them apart. */
export const shortNames = (hosts: readonly string[]): ReadonlyMap<string, string> => {
  const short = hosts.map((host) => (isIP(host) === 0 ? (host.split('.')[0] ?? host) : host));
  const isClear = new Set(short).size === new Set(hosts).size;
  return new Map(hosts.map((host, at) => [host, (isClear ? short[at] : undefined) ?? host]));
};

/** `kube-apiserver@cp1.example.net` as `apiserver@cp1`; what is no process stays as it is. */
export const shortProcess = (id: string, names: ReadonlyMap<string, string>): string => {
  const [service = '', host] = id.replace(/^kube-/, '').split('@');
  return host === undefined ? id : `${service}@${names.get(host) ?? host}`;
};

/** The domain that all hosts are of, with its dot; undefined where they are of several, or their short names alike. */
export const commonDomain = (hosts: readonly string[]): string | undefined => {
  const domains = new Set(hosts.map((host) => (isIP(host) === 0 ? host.replace(/^[^.]*/, '') : '')));
  const [domain] = domains;
  return domains.size === 1 && domain !== '' ? domain : undefined;
};

/** A text whose words name hosts without that domain. Paths stay whole: they must be right to be copied. */
export const withoutDomain = (text: string, domain: string | undefined): string =>
  domain === undefined
    ? text
    : text
        .split(' ')
        .map((word) => {
          const [, name = word, mark = ''] = /^(.*?)([,;:.)]*)$/.exec(word) ?? [];
          return !word.includes('/') && name.endsWith(domain) ? name.slice(0, -domain.length) + mark : word;
        })
        .join(' ');
