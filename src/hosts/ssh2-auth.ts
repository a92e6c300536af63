import { readFile } from 'node:fs/promises';
import ssh2, { type AnyAuthMethod, type AuthHandlerMiddleware, type ParsedKey } from 'ssh2';
import type { SshTarget } from './ssh-config.js';

/** What can be tried to log in, and why other things cannot. */
export interface Credentials {
  readonly handler: AuthHandlerMiddleware;
  /** One sentence per identity file that is of no use, for the error when nothing else works. */
  readonly problems: readonly string[];
}

/**
 * Identity files in their order, then the agent's keys. A file that is encrypted is left to the
 * agent: certroll asks for no passphrase.
 */
export const credentialsFor = async (target: SshTarget): Promise<Credentials> => {
  const files = await Promise.all(target.identityFiles.map(readIdentity));
  const keys = files.flatMap(({ key }) => (key === undefined ? [] : [key]));
  const methods: AnyAuthMethod[] = keys.map((key) => ({ type: 'publickey', username: target.user, key }));
  if (target.agentSocket !== undefined) {
    const wanted = target.identitiesOnly ? files.flatMap(({ publicBlob }) => publicBlob ?? []) : undefined;
    methods.push({
      type: 'agent',
      username: target.user,
      agent: new ChosenAgent(target.agentSocket, wanted),
    });
  }
  return {
    handler: (_left, _partial, next) => {
      // ssh2 takes `false` for "nothing left"; its types leave that out.
      (next as (method: AnyAuthMethod | false) => void)(methods.shift() ?? false);
    },
    problems: files.flatMap(({ problem }) => problem ?? []),
  };
};

export interface Identity {
  readonly key?: ParsedKey;
  readonly publicBlob?: Buffer;
  /** Why the file is of no use by itself; one that does not exist has no problem and no key. */
  readonly problem?: string;
}

/** How many keys an agent holds. Rejects when nothing answers at that socket. */
export const countAgentKeys = async (socket: string): Promise<number> =>
  new Promise((resolve, reject) => {
    new ssh2.OpenSSHAgent(socket).getIdentities((error, keys) => {
      if (error) reject(error);
      else resolve(keys?.length ?? 0);
    });
  });

export const readIdentity = async (path: string): Promise<Identity> => {
  const text = await readFile(path).catch((error: unknown) => error as NodeJS.ErrnoException);
  const publicBlob = await readPublicHalf(path);
  const agentOnly = publicBlob === undefined ? {} : { publicBlob };
  if (text instanceof Error) {
    // Most of ssh's default names do not exist; that is no problem worth a word.
    return text.code === 'ENOENT'
      ? agentOnly
      : { ...agentOnly, problem: `${path} cannot be read (${text.code ?? text.message})` };
  }
  const key = ssh2.utils.parseKey(text);
  if (!(key instanceof Error)) return { key, publicBlob: key.getPublicSSH() };
  const why = /encrypted/i.test(key.message)
    ? `is encrypted: add it to ssh-agent with ssh-add ${path}`
    : 'holds no key that can be used';
  return { ...agentOnly, problem: `${path} ${why}` };
};

const readPublicHalf = async (path: string): Promise<Buffer | undefined> => {
  const text = await readFile(`${path}.pub`, 'utf8').catch(() => '');
  const [, base64] = text.split(' ');
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64');
};

/** The agent with only the keys that may be used (IdentitiesOnly); all of them when `wanted` is undefined. */
class ChosenAgent extends ssh2.OpenSSHAgent {
  readonly #wanted: readonly Buffer[] | undefined;

  constructor(socket: string, wanted: readonly Buffer[] | undefined) {
    super(socket);
    this.#wanted = wanted;
  }

  override getIdentities(done: Parameters<InstanceType<typeof ssh2.OpenSSHAgent>['getIdentities']>[0]): void {
    super.getIdentities((error, keys) => {
      const wanted = this.#wanted;
      const isWanted = (key: object): boolean =>
        'getPublicSSH' in key &&
        wanted?.some((blob) => blob.equals((key as ParsedKey).getPublicSSH())) === true;
      done(error, wanted === undefined ? keys : keys?.filter(isWanted));
    });
  }
}
