import { Command, InvalidArgumentError } from 'commander';
import { bringUp, leave, rotate, showStatus, tell, whatRuns } from './demo.js';
import { Playground } from './playground.js';
import { DEFAULT_DIR, DEFAULT_MAX_LIFE, realApiserver } from './settings.js';

interface Options {
  readonly dir: string;
  readonly maxLife: number;
  readonly keep?: boolean;
}

const seconds = (text: string): number => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('A whole number of seconds.');
  return value;
};

const say = (text: string): void => console.log(text);

// Whoever reads it may go away (`| head`): what was started is stopped all the same.
process.stdout.on('error', () => undefined);

/** What was started is ended on Ctrl-C too: the servers do not hear it themselves. */
const interruption = new AbortController();
const { signal } = interruption;
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    if (!signal.aborted) say('\nStopping ...');
    interruption.abort(new Error('stopped'));
  });
}

const isRunning = async (playground: Playground): Promise<boolean> =>
  [...(await playground.servers()).values()].includes(true);

/** A new one takes the place of what is in the folder: not of one that somebody is at. */
const refuseRunning = async (dir: string): Promise<void> => {
  const playground = Playground.attach(dir);
  if ((await isRunning(playground)) && (await playground.isKept()))
    throw new Error(
      `A playground runs in ${playground.dir}. Stop it first: npm run playground -- down --dir ${playground.dir}`,
    );
};

const running = async (dir: string): Promise<Playground> => {
  const playground = Playground.attach(dir);
  if (!(await isRunning(playground)))
    throw new Error(`No playground runs in ${playground.dir}. Start one: npm run playground -- up`);
  return playground;
};

const program = new Command('playground')
  .description(
    [
      'A cluster of three control planes on this machine, to try certroll on. It needs no root, and listens on 127.0.0.1',
      'only. Without a command it shows the main job from beginning to end: it starts a cluster in which no apiserver',
      'accepts the tokens of another, replaces the keys with certroll, and stops the cluster.',
    ].join(' '),
  )
  .option('--dir <folder>', 'where it lives', DEFAULT_DIR)
  .option('--max-life <seconds>', 'it ends by itself after that long', seconds, DEFAULT_MAX_LIFE)
  .option('--keep', 'leave it running at the end')
  .addHelpText(
    'after',
    `
${whatRuns(realApiserver())}

Examples:
  npm run playground                          see the main job, in about a minute
  npm run playground -- --keep                the same, and leave the cluster running
  npm run playground -- up                    start a cluster with the fault
  npm run playground -- status                which servers run, and who accepts whose tokens
  npm run playground -- rotate                replace the keys with certroll
  npm run playground -- rotate -- --force     again, though nothing is due
  npm run playground -- down                  stop it and remove its folder
  KUBE_APISERVER=/usr/local/bin/kube-apiserver npm run playground`,
  );

const options = (): Options => program.opts<Options>();

program.action(async () => {
  const { dir, maxLife, keep } = options();
  await refuseRunning(dir);
  const playground = await bringUp(dir, maxLife, signal);
  try {
    process.exitCode = await tell({ playground, signal });
  } finally {
    if (keep === true && !signal.aborted) await leave(playground);
    else {
      await playground.down();
      say(
        `\nThe cluster is stopped, and its folder removed with the journal in it. "npm run playground -- --keep" leaves both, to try things by hand.`,
      );
    }
  }
});

program
  .command('up')
  .description('start a cluster with the fault, and leave it running')
  .action(async () => {
    const { dir, maxLife } = options();
    await refuseRunning(dir);
    await leave(await bringUp(dir, maxLife, signal));
  });

program
  .command('status')
  .description('which servers run, and who accepts whose tokens')
  .action(async () => {
    const playground = await running(options().dir);
    say(`${whatRuns(await playground.realApiserver())}\n`);
    for (const [name, runs] of await playground.servers()) say(`${runs ? 'runs ' : 'ended'}  ${name}`);
    process.exitCode = await showStatus({ playground, signal });
  });

program
  .command('rotate')
  .description('replace the keys with certroll; what follows "--" goes to certroll')
  .argument('[arguments...]')
  .action(async (more: readonly string[]) => {
    process.exitCode = await rotate({ playground: await running(options().dir), signal }, more);
  });

program
  .command('down')
  .description('stop it and remove its folder')
  .action(async () => {
    await Playground.attach(options().dir).down();
    say('The playground is down.');
  });

try {
  await program.parseAsync();
} catch (error) {
  if (!signal.aborted) console.error(`playground: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = signal.aborted ? 130 : 1;
}
