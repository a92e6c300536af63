import type { ToolFact } from '../hosts/tools.js';
import { failed, ok, warning, type Verdict } from './check.js';

/** Where Debian has them; other systems call their packages much the same. */
const PACKAGES: Readonly<Record<string, string>> = {
  openssl: 'openssl',
  awk: 'mawk or gawk',
  grep: 'grep',
  sed: 'sed',
  getent: 'libc-bin',
  systemctl: 'systemd',
  runuser: 'util-linux',
  setpriv: 'util-linux',
};

/** Only an audit, or the look before a restart, does less without them. */
const OPTIONAL = ['runuser', 'setpriv'];

/** `-noservername` and `-verify_hostname` of s_client. */
const OLDEST_OPENSSL = [1, 1, 1] as const;

const isTooOld = (said: string): boolean => {
  const [, ...version] = /^OpenSSL (\d+)\.(\d+)\.(\d+)/.exec(said) ?? [];
  if (version.length === 0) return true;
  const numbers = version.map(Number);
  const at = numbers.findIndex((number, index) => number !== OLDEST_OPENSSL[index]);
  return at >= 0 && (numbers[at] ?? 0) < (OLDEST_OPENSSL[at] ?? 0);
};

/** `openssl version` as a fact of its own: being there is not enough. */
const withVersion = (fact: ToolFact): ToolFact =>
  fact.name === 'openssl' && fact.state === 'there' && isTooOld(fact.detail)
    ? { ...fact, state: 'unfit' }
    : fact;

const packagesOf = (facts: readonly ToolFact[]): string =>
  [...new Set(facts.map(({ name }) => PACKAGES[name] ?? 'coreutils'))].join(', ');

const whyUnfit = ({ name, detail }: ToolFact): string =>
  name === 'openssl'
    ? `openssl is '${detail}', and 1.1.1 is the oldest that will do`
    : `${name} does not do what is asked of it${detail === '' ? '' : ` (it says '${detail.slice(0, 80)}')`}`;

/** Whether a host has the programs that certroll's scripts use, and such as do what is asked of them. */
export const judgeTools = (found: readonly ToolFact[] | undefined): Verdict => {
  if (!found)
    return failed(
      'the script that looks for programs did not come to its end',
      'See that the host has a POSIX sh, and that its login shell prints nothing and ends with it.',
    );
  const facts = found.map(withVersion);
  const missing = facts.filter(({ name, state }) => state === 'missing' && !OPTIONAL.includes(name));
  const unfit = facts.filter(({ state }) => state === 'unfit');
  if (missing.length + unfit.length > 0) {
    const texts = [
      ...(missing.length > 0 ? [`it has no ${missing.map(({ name }) => name).join(', ')}`] : []),
      ...unfit.map(whyUnfit),
    ];
    return failed(
      texts.join('; '),
      `Install GNU's programs there (${packagesOf([...missing, ...unfit])}), or put them first in the PATH of its sudo (secure_path) and of its sshd.`,
    );
  }
  const without = facts.filter(({ name, state }) => state === 'missing' && OPTIONAL.includes(name));
  if (without.length > 0)
    return warning(
      `it has no ${without.map(({ name }) => name).join(', ')}: whether a service's own user may read its files cannot be tried`,
      `Install ${packagesOf(without)} there.`,
    );
  const openssl = facts.find(({ name }) => name === 'openssl')?.detail ?? '';
  return ok(`all ${facts.length} programs; ${openssl.replace(/ \(.*$/, '')}`);
};
