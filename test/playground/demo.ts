import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { ROOT } from '../support/build.js';
import { newestChange } from './newest.js';
import { Playground } from './playground.js';

const say = (text = ''): void => console.log(text);

/** A playground, and what ends the session with it. */
export interface Session {
  readonly playground: Playground;
  readonly signal: AbortSignal;
}

/** Compiles certroll when that was never done, or its source has changed since. */
const build = async (signal: AbortSignal): Promise<void> => {
  const built = await stat(join(ROOT, 'dist/cli/main.js')).catch(() => undefined);
  if (built && built.mtimeMs >= (await newestChange(join(ROOT, 'src')))) return;
  say('Compiling certroll (npm run build) ...');
  await execa('npm', ['run', '--silent', 'build'], {
    cwd: ROOT,
    stdio: 'inherit',
    cancelSignal: signal,
  });
};

/** The command line as a user would call it, its output as it comes; resolves to its exit status. */
const certroll = async ({ playground, signal }: Session, ...args: readonly string[]): Promise<number> => {
  say(`\n$ certroll ${args.join(' ')}`);
  const child = execa(process.execPath, [join(ROOT, 'bin/certroll.js'), ...args], {
    stdio: 'inherit',
    reject: false,
    env: { CERTROLL_STATE_DIR: playground.stateDir },
  });
  // Ctrl-C on a terminal reaches it too; told twice, it would not finish the change that is under way.
  const tell = (): void => {
    if (!process.stdin.isTTY) child.kill('SIGTERM');
  };
  signal.addEventListener('abort', tell);
  const { exitCode } = await child;
  signal.removeEventListener('abort', tell);
  signal.throwIfAborted();
  return exitCode ?? 1;
};

/** What the apiservers are, said wherever a user looks. */
export const whatRuns = (realApiserver: string | undefined): string =>
  realApiserver === undefined
    ? `sshd, etcd and certroll are real. The three apiservers are STAND-INS, not kube-apiserver: they keep its rules about keys
and tokens, and do nothing else. (KUBE_APISERVER=/path/to/kube-apiserver runs real ones.)`
    : `sshd, etcd, certroll and the three apiservers (${realApiserver}) are real.`;

/** Starts a fresh one, saying what it is. */
export const bringUp = async (dir: string, maxLife: number, signal: AbortSignal): Promise<Playground> => {
  await build(signal);
  const start = Date.now();
  say('Starting a cluster of three control planes on 127.0.0.1 ...');
  const playground = await Playground.up({ dir, maxLife, say, signal });
  say(`Up after ${((Date.now() - start) / 1000).toFixed(1)} s, in ${playground.dir}`);
  say(whatRuns(await playground.realApiserver()));
  return playground;
};

/** Leaves it running, and says what to type next. */
export const leave = async (playground: Playground): Promise<void> => {
  await playground.keep();
  const [host] = playground.hosts;
  const etcdctl = `etcdctl --endpoints ${await playground.etcdEndpoint()} --cacert ${playground.pki('etcd-ca.crt')} --cert ${playground.pki('etcd-client.crt')} --key ${playground.pki('etcd-client.key')}`;
  say(`
Go on by hand:
  export CERTROLL_STATE_DIR=${playground.stateDir}
  node bin/certroll.js status -c ${playground.clusterFile}
  node bin/certroll.js plan rotate-sa-keys -c ${playground.clusterFile}
  node bin/certroll.js run rotate-sa-keys -c ${playground.clusterFile} --force
  node bin/certroll.js run check-expiry -c ${playground.clusterFile}
  ssh -F ${join(playground.dir, 'ssh_config')} ${host.name}
  tail -f ${host.path('apiserver.log')}
  npm run playground -- down --dir ${playground.dir}

The lock is etcdctl's own. Hold it, and a run of certroll waits (lock show tells for whom):
  ${etcdctl} lock apiserver-restart -- sleep 30
  node bin/certroll.js lock show -c ${playground.clusterFile}`);
};

/** The trust matrix. */
export const showStatus = async (session: Session): Promise<number> =>
  certroll(session, 'status', '-c', session.playground.clusterFile);

/** The main job. */
export const rotate = async (session: Session, more: readonly string[] = []): Promise<number> =>
  certroll(session, 'run', 'rotate-sa-keys', '-c', session.playground.clusterFile, '--yes', ...more);

/** From the fault to keys that all accept; resolves to an exit status. */
export const tell = async (session: Session): Promise<number> => {
  say('\nThe fault: each apiserver signs tokens with a key of its own, and the others refuse them.');
  await showStatus(session);
  say('\nNow certroll replaces the keys of all three, with no token refused on the way.');
  const exit = await rotate(session);
  say(
    exit === 0 ? '\nAnd now everyone accepts the tokens of everyone:' : `\nThe rotation ended with ${exit}.`,
  );
  const after = await showStatus(session);
  return exit === 0 ? after : exit;
};
