import { InvalidArgumentError, Option, type Command } from 'commander';
import { SEVERITIES, type Severity } from '../../audit/rule.js';
import { clusterOption, jsonOption } from '../options.js';

const FORMATS = ['table', 'json', 'prometheus', 'html', 'nagios', 'cmk'] as const;

export interface AuditFlags {
  readonly cluster: string;
  readonly format: (typeof FORMATS)[number];
  readonly json?: boolean;
  readonly output?: string;
  readonly failOn: Severity;
  readonly atOnce: number;
  readonly secrets?: boolean;
}

const count = (text: string): number => {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= 256) return value;
  throw new InvalidArgumentError('Write a whole number from 1 to 256.');
};

export const addAuditCommand = (root: Command): void => {
  root
    .command('audit')
    .summary('show what each process has loaded, and whether the next restart would hurt')
    .description(
      'Looks at every host of one or many clusters, read-only: the certificates, keys, bundles and kubeconfigs that the running processes use by their own flags, what is served on their ports, who trusts whom, on disk against loaded. No private key leaves its host. Exit 3 when there are findings at or above --fail-on.',
    )
    .addOption(clusterOption())
    .addOption(new Option('--format <format>', 'how to print it').choices(FORMATS).default('table'))
    .addOption(jsonOption().conflicts('format'))
    .option('-o, --output <file>', 'write it to a file, whole or not at all, instead of standard output')
    .addOption(
      new Option('--fail-on <severity>', 'the least severity that makes the exit status 3')
        .choices(SEVERITIES)
        .default('warning'),
    )
    .addOption(
      new Option('--at-once <hosts>', 'hosts that are looked at at the same time')
        .argParser(count)
        .default(16),
    )
    .option(
      '--secrets',
      'look at TLS Secrets too: needs to list Secrets, whose keys the apiserver sends along; only their public halves are kept',
    )
    .addHelpText(
      'after',
      `
-c may also name a folder of cluster files, or a fleet file (clusters: [prod.yaml, staging/]).
With --format nagios the exit status is a plugin's: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.

Examples:
  certroll audit -c prod.yaml
  certroll audit -c /etc/certroll/clusters --fail-on critical
  certroll audit -c prod.yaml --format html -o audit.html
  certroll audit -c prod.yaml --format prometheus -o /var/lib/prometheus/node-exporter/certroll.prom`,
    )
    .action(async (flags: AuditFlags) => {
      const { showAudit } = await import('../show-audit.js');
      process.exitCode = await showAudit(flags);
    });
};
