import ssh2 from 'ssh2';
import { fingerprint } from './known-hosts.js';
import type { SshTarget } from './ssh-config.js';

/** A host key as the host itself presents it, which proves nothing yet. */
export interface PresentedKey {
  /** `ssh-ed25519`, … */
  readonly type: string;
  /** `SHA256:…`, as ssh prints it. */
  readonly fingerprint: string;
  /** The line that known_hosts would have for it. */
  readonly line: string;
}

/** What known_hosts calls a host: with its port where that is not 22, unless ssh_config gives it a name of its own. */
export const knownAs = ({ keyName, port }: Pick<SshTarget, 'keyName' | 'port'>): string =>
  port === 22 || keyName.isAlias ? keyName.name : `[${keyName.name}]:${port}`;

const presented = (target: SshTarget, key: Buffer): PresentedKey => {
  const type = key.subarray(4, 4 + key.readUInt32BE(0)).toString('latin1');
  return {
    type,
    fingerprint: fingerprint(key),
    line: `${knownAs(target)} ${type} ${key.toString('base64')}`,
  };
};

/**
 * The host key that is presented at that address, for people to compare; it is refused there and then, and nothing else is
 * said to the host. Undefined when there was none within the time (milliseconds).
 */
export const presentedKey = async (
  target: SshTarget,
  timeoutMs: number,
): Promise<PresentedKey | undefined> => {
  let found: PresentedKey | undefined;
  const client = new ssh2.Client();
  return new Promise((resolve) => {
    const end = (): void => {
      resolve(found);
      client.destroy();
    };
    client.on('error', end).on('close', end);
    client.connect({
      host: target.hostname,
      port: target.port,
      username: target.user,
      readyTimeout: timeoutMs,
      hostVerifier: (key: Buffer): boolean => {
        found = presented(target, key);
        return false;
      },
    });
  });
};
