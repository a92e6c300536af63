import { Command } from 'commander';
import { execa } from 'execa';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROOT } from '../support/build.js';
import { Playground } from './playground.js';
import { DEFAULT_DIR, paths } from './settings.js';

const say = (text: string): void => console.log(text);

/** Installs what is missing from apt when it may, or names it. */
const setUp = async (): Promise<void> => {
  await execa('bash', [fileURLToPath(new URL('../tools/setup.sh', import.meta.url)), 'playground'], {
    stdio: 'inherit',
  });
  await execa('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: 'inherit' });
};

/** The command line itself, as a user would call it; resolves to its exit status. */
const certroll = async (dir: string, args: readonly string[]): Promise<number> => {
  say(`\n$ certroll ${args.join(' ')}`);
  const { exitCode } = await execa(process.execPath, [`${ROOT}/bin/certroll.js`, ...args], {
    stdio: 'inherit',
    reject: false,
    env: { CERTROLL_STATE_DIR: paths(dir).state },
  });
  return exitCode ?? 1;
};

const what =
  process.env['KUBE_APISERVER'] === undefined
    ? 'Its apiservers are STAND-INS: they keep the rules about keys and tokens and nothing else. KUBE_APISERVER=/path/to/kube-apiserver takes a real one.'
    : `Its apiservers are ${process.env['KUBE_APISERVER']}.`;

const up = async (dir: string, maxLife: string): Promise<Playground> => {
  await setUp();
  const start = performance.now();
  say('Starting three control planes on loopback: real sshd, a real etcd.');
  say(what);
  const playground = await Playground.up({ dir, maxLife: Number(maxLife) });
  say(`Up in ${((performance.now() - start) / 1000).toFixed(1)} s, in ${dir}`);
  return playground;
};

const howToGoOn = (playground: Playground): void => {
  say(`
To go on by hand:
  node bin/certroll.js status -c ${playground.clusterFile}
  node bin/certroll.js run rotate-sa-keys -c ${playground.clusterFile} --force
  npm run playground -- down`);
};

interface Flags {
  readonly dir: string;
  readonly maxLife: string;
  readonly keep?: boolean;
}

/** The main job, from the fault to keys that all accept. */
const mainJob = async ({ dir, maxLife, keep }: Flags): Promise<number> => {
  const stop = (): void => {
    Playground.attach(dir)
      .down()
      .then(
        () => process.exit(130),
        () => process.exit(1),
      );
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  const playground = await up(dir, maxLife);
  try {
    const args = ['-c', playground.clusterFile];
    say('\nBefore: each control plane signs with a key that only it accepts.');
    await certroll(dir, ['status', ...args]);
    const exit = await certroll(dir, ['run', 'rotate-sa-keys', ...args, '--yes']);
    say(
      exit === 0
        ? '\nAfter: new keys, and every control plane accepts all of them.'
        : `\nThe rotation ended with ${exit}.`,
    );
    const after = await certroll(dir, ['status', ...args]);
    if (keep === true) howToGoOn(playground);
    return exit === 0 ? after : exit;
  } finally {
    if (keep !== true) {
      await playground.down();
      say('\nThe playground is stopped. --keep leaves it running, to try things by hand.');
    }
  }
};

const program = new Command('playground')
  .description(
    'A cluster of three control planes on this machine, to try certroll on: real sshd and etcd, apiservers that are stand-ins.\nWithout a command: starts one with the fault, rotates its keys with certroll, shows it before and after, and stops it.',
  )
  .option('--dir <folder>', 'where it lives', DEFAULT_DIR)
  .option('--max-life <seconds>', 'it ends by itself after so long', '7200')
  .option('--keep', 'leave it running at the end')
  .addHelpText(
    'after',
    '\nExamples:\n  npm run playground\n  npm run playground -- --keep\n  npm run playground -- up\n  npm run playground -- down\n  KUBE_APISERVER=/usr/local/bin/kube-apiserver npm run playground',
  )
  .action(async (flags: Flags) => {
    process.exitCode = await mainJob({ ...flags, dir: resolve(flags.dir) });
  });
const folder = (): string => resolve(program.opts<Flags>().dir);
program
  .command('up')
  .description('start one, with the fault, and leave it running')
  .action(async () => howToGoOn(await up(folder(), program.opts<Flags>().maxLife)));
program
  .command('down')
  .description('stop it and remove its folder')
  .action(async () => {
    await Playground.attach(folder()).down();
    say('The playground is down.');
  });
program
  .command('status')
  .description('which of its processes run, and the trust matrix')
  .action(async () => {
    const playground = Playground.attach(folder());
    const processes = await playground.processes();
    for (const [name, isRunning] of processes) say(`${isRunning ? 'runs ' : 'ended'} ${name}`);
    process.exitCode =
      processes.size > 0 ? await certroll(folder(), ['status', '-c', playground.clusterFile]) : 1;
    if (processes.size === 0) say('The playground is not up. npm run playground -- up');
  });
await program.parseAsync();
