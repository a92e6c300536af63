import { InvalidArgumentError, Option, type Command } from 'commander';

export interface InitFlags {
  readonly cluster?: string;
  readonly systemd?: boolean;
  readonly secrets?: boolean;
  readonly output?: string;
  readonly user: string;
  readonly metricsFolder: string;
  readonly force?: boolean;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly name?: string;
  readonly dryRun?: boolean;
  readonly sshUser?: string;
  readonly sshPort?: number;
  readonly sshConfig?: string;
  readonly identity?: readonly string[];
  readonly knownHosts?: readonly string[];
  readonly transport?: string;
  readonly sudo: boolean;
}

const port = (text: string): number => {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 65535) return value;
  throw new InvalidArgumentError('Write a port, a whole number from 1 to 65535.');
};

const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  value,
];

/** Options of the cluster file that is written, and of how it is found out what goes into it. */
const addClusterOptions = (command: Command): Command =>
  command
    .optionsGroup('What the cluster file is found out from:')
    .option('--kubeconfig <file>', 'a kubeconfig; its API is asked for the control planes')
    .option('--context <name>', 'a context of it that is not the current one')
    .option('--name <name>', 'what to call the cluster')
    .option('--ssh-user <name>', 'whom to log in as')
    .addOption(new Option('--ssh-port <port>', 'where sshd listens').argParser(port))
    .option('--ssh-config <file>', 'an OpenSSH client configuration')
    .addOption(
      new Option('--identity <file>', 'a key to log in with; may be given several times').argParser(collect),
    )
    .addOption(
      new Option('--known-hosts <file>', 'known host keys; may be given several times').argParser(collect),
    )
    .addOption(new Option('--transport <name>', "openssh runs the system's ssh").choices(['ssh2', 'openssh']))
    .option('--no-sudo', 'the login user may do everything without sudo')
    .option('--dry-run', 'print the cluster file instead of writing it');

const addScheduleOptions = (command: Command): Command =>
  command
    .optionsGroup('What runs an audit by itself:')
    .option('--secrets', 'let it look at TLS Secrets too (see audit --secrets)')
    .addOption(
      new Option(
        '--systemd',
        'write a service, a timer, a cron line and Prometheus rules instead of a cluster file',
      ),
    )
    .addOption(new Option('-c, --cluster <file>', 'the cluster file that they audit').env('CERTROLL_CLUSTER'))
    .option(
      '--user <name>',
      'whom the audit runs as: must have the SSH key and read the kubeconfig',
      'certroll',
    )
    .option(
      '--metrics-folder <folder>',
      'the folder of the textfile collector; must be writable for that user',
      '/var/lib/prometheus/node-exporter',
    );

export const addInitCommand = (root: Command): void => {
  const command = root
    .command('init')
    .argument('[host]', 'a control plane to start from, over SSH')
    .summary('write a cluster file from what is found; or what audits a cluster by itself')
    .description(
      'Looks at a cluster, from a kubeconfig or from one control plane on, and writes a cluster file in which each value says where it was seen. Changes nothing on any host, copies no private key. Where the file exists, nothing is written: it shows what the file says otherwise than was seen.',
    )
    .option('-o, --output <path>', 'the cluster file (default: NAME.yaml); with --systemd a folder')
    .option('--force', 'write anew what is there');
  addScheduleOptions(addClusterOptions(command))
    .addHelpText(
      'after',
      `
What could not be found out is told on standard error and in the file, and makes the exit status 3; so does a file that says
something else than was seen.

Examples:
  certroll init --kubeconfig admin.conf --name prod -o prod.yaml
  certroll init kubemaster1001.example.net --ssh-user ops
  certroll init -o prod.yaml                      is what it says still so?
  certroll init --kubeconfig admin.conf --dry-run

  certroll init --systemd -c /etc/certroll/prod.yaml -o ./units
  install -m 644 units/certroll-audit-prod.service units/certroll-audit-prod.timer /etc/systemd/system/
  systemctl daemon-reload && systemctl enable --now certroll-audit-prod.timer`,
    )
    .action(async (host: string | undefined, flags: InitFlags) => {
      if (flags.systemd === true) {
        const { writeSchedule } = await import('../write-schedule.js');
        process.exitCode = await writeSchedule(flags);
      } else {
        const { writeCluster } = await import('../write-cluster.js');
        process.exitCode = await writeCluster(host, flags);
      }
    });
};
