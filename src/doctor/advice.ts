import type { PresentedKey } from '../hosts/host-key.js';
import { failed, type Verdict } from './check.js';

/** What an apiserver or an etcd member shows at an address. */
export interface ShownCertificate {
  readonly names: readonly string[];
}

const list = (names: readonly string[]): string => {
  const shown = names.slice(0, 12);
  return `${shown.join(', ')}${names.length > shown.length ? ` and ${names.length - shown.length} more` : ''}`;
};

/** Node names the reason `ERR_TLS_CERT_ALTNAME_INVALID` so. */
const isWrongName = (message: string): boolean => /does not match certificate's altnames/i.test(message);

/** A handshake that failed: the names the certificate does carry say which of them to put into the cluster file. */
export const judgeTlsFailure = (
  message: string,
  hint: string,
  { wanted, setting, shown }: { wanted: string; setting: string; shown: ShownCertificate | undefined },
): Verdict => {
  if (!isWrongName(message)) return failed(message, hint);
  const names = shown?.names ?? [];
  return failed(
    `its certificate does not carry the name ${wanted}`,
    names.length === 0
      ? `Set ${setting} in the cluster file to a name that it carries, or have it issued with that name.`
      : `It carries ${list(names)}. Set ${setting} in the cluster file to one of these that all of them carry, or have it issued with ${wanted}.`,
  );
};

/** What must be known to tell how a host key is compared. */
export interface HostKeyPlace {
  readonly hostname: string;
  readonly port: number;
  readonly knownHostsFile: string | undefined;
}

const fileOfKey = (type: string): string => {
  const kind = /^ecdsa/.test(type) ? 'ecdsa' : type === 'ssh-rsa' ? 'rsa' : type.replace(/^ssh-/, '');
  return `/etc/ssh/ssh_host_${kind}_key.pub`;
};

/**
 * A host key that is not the known one: which one was presented, how to compare it with the host's own, and the line that
 * known_hosts then takes. Never that it could be taken as it is.
 */
export const judgeHostKey = (
  message: string,
  presented: PresentedKey | undefined,
  { hostname, port, knownHostsFile }: HostKeyPlace,
): Verdict => {
  const keyscan = `ssh-keyscan -p ${port} ${hostname}`;
  const file = knownHostsFile ?? 'known_hosts';
  if (!presented)
    return failed(
      message,
      `Compare what '${keyscan} | ssh-keygen -lf -' prints with 'ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub' on the host's own console, then put that line into ${file}.`,
    );
  return failed(
    `${message}; it presents ${presented.type} ${presented.fingerprint}`,
    `On the host's own console 'ssh-keygen -lf ${fileOfKey(presented.type)}' must print ${presented.fingerprint}. Only then put this line into ${file} (it is what '${keyscan}' gives), in place of any other of that host: ${presented.line}`,
  );
};
