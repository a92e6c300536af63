import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { findCookbooks } from '../cookbook/find.js';
import { CertrollError, EXIT } from '../core/errors.js';
import { addAuditCommand } from './commands/audit.js';
import { addCookbookCommands } from './commands/cookbook.js';
import { addDoctorCommand } from './commands/doctor.js';
import { addHistoryCommands } from './commands/history.js';
import { addInitCommand } from './commands/init.js';
import { addLockCommands } from './commands/lock.js';
import { addRunCommands } from './commands/run.js';
import { addStatusCommand } from './commands/status.js';

const version = (): string => {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
};

/** Words of commander's that leave out what would help most. */
const clearer = (text: string): string => {
  const [, word = ''] = /^error: unknown command '(.+?)'/.exec(text) ?? [];
  if (findCookbooks(['cookbooks']).has(word))
    return `error: unknown command '${word}'; did you mean "certroll run ${word}"?\n`;
  // Whoever is told that -c is missing may as well have meant to set it for good.
  return text.replace("--cluster <file>' not specified", '$&; give it, or set CERTROLL_CLUSTER');
};

/** The whole command line. Commands load what they need when they run, so that --help and --version stay quick. */
export const program = (): Command => {
  const root = new Command('certroll')
    .description(
      'Rotates the keys and certificates of a Kubernetes control plane without a moment of refused trust.',
    )
    .version(version(), '-V, --version')
    .exitOverride()
    .configureOutput({
      outputError: (text, write) => write(clearer(text)),
    })
    .showHelpAfterError('(certroll --help shows what there is)')
    .option('--debug', 'show the causes of an error')
    .addHelpText(
      'after',
      `
Examples:
  certroll init --kubeconfig admin.conf -o prod.yaml writes a cluster file from what it finds
  certroll plan rotate-sa-keys -c prod.yaml          what a rotation would change; changes nothing
  certroll run rotate-sa-keys -c prod.yaml           shows the plan, asks, then runs it
  certroll run rotate-sa-keys -c prod.yaml --yes     from cron: runs only what is due
  certroll run check-expiry -c prod.yaml             what expires when; changes nothing
  certroll audit -c prod.yaml                        what each process has loaded; changes nothing
  certroll doctor -c prod.yaml                       is all there that a run needs; changes nothing
  certroll status -c prod.yaml                       who signs with what, and who accepts it
  certroll lock show -c prod.yaml                    who holds the restart lock

Exit status: 0 done or nothing to do · 1 failed · 2 usage, cluster file or cookbook wrong · 3 findings or changes
pending (dry run) · 4 refused by proof or gate · 5 lock not had in time · 6 outcome unknown · 7 waiting`,
    );
  addRunCommands(root);
  addStatusCommand(root);
  addAuditCommand(root);
  addHistoryCommands(root);
  addCookbookCommands(root);
  addLockCommands(root);
  addInitCommand(root);
  addDoctorCommand(root);
  return root;
};

interface ReportStyle {
  readonly debug: boolean;
  /** Tell it on standard output too, as the last line. */
  readonly json: boolean;
}

/** Tells what ended the command, and gives the exit status. */
const report = async (thrown: unknown, { debug, json }: ReportStyle): Promise<number> => {
  const { errorJson, renderError } = await import('../report/errors.js');
  if (thrown instanceof CommanderError) {
    // Commander has printed its own message by now; help that was asked for is no error.
    if (thrown.exitCode === 0) return EXIT.done;
    const usage = new CertrollError(thrown.message.replace(/^error: /, ''), {
      code: 'usage',
      exit: EXIT.usage,
    });
    if (json) process.stdout.write(`${errorJson(usage)}\n`);
    return EXIT.usage;
  }
  if (json) process.stdout.write(`${errorJson(thrown)}\n`);
  process.stderr.write(
    `${renderError(thrown, { color: process.stderr.isTTY && (process.env['NO_COLOR'] ?? '') === '', debug })}\n`,
  );
  return thrown instanceof CertrollError ? thrown.exit : EXIT.failed;
};

/** Runs the command line; resolves to the exit status. */
export const main = async (argv: readonly string[]): Promise<number> => {
  const root = program();
  try {
    await root.parseAsync(argv);
    return typeof process.exitCode === 'number' ? process.exitCode : EXIT.done;
  } catch (thrown) {
    return report(thrown, {
      debug: root.opts<{ debug?: boolean }>().debug === true,
      // From the words themselves: what was thrown may be about the options.
      json: argv.includes('--json'),
    });
  }
};
