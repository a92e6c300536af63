import { Option, type Command } from 'commander';
import { clusterOption } from '../options.js';

export interface InitFlags {
  readonly cluster: string;
  readonly output: string;
  readonly user: string;
  readonly metricsFolder: string;
  readonly force?: boolean;
}

export const addInitCommand = (root: Command): void => {
  root
    .command('init')
    .summary('write what runs certroll by itself: a timer, a cron line, alert rules')
    .description(
      'Writes a hardened systemd service and timer that audit the cluster every six hours into metrics for node_exporter, the same as a cron line, and a Prometheus rule file. Starts nothing: look at the files, then install them.',
    )
    .addOption(clusterOption())
    .addOption(new Option('--systemd', 'write these files').makeOptionMandatory())
    .option('-o, --output <folder>', 'where to write them', '.')
    .option(
      '--user <name>',
      'whom the audit runs as: must have the SSH key and read the kubeconfig',
      'certroll',
    )
    .option(
      '--metrics-folder <folder>',
      'the folder of the textfile collector; must be writable for that user',
      '/var/lib/prometheus/node-exporter',
    )
    .option('--force', 'replace files that are there')
    .addHelpText(
      'after',
      `
Example:
  certroll init --systemd -c /etc/certroll/prod.yaml -o ./units
  install -m 644 units/certroll-audit-prod.service units/certroll-audit-prod.timer /etc/systemd/system/
  systemctl daemon-reload && systemctl enable --now certroll-audit-prod.timer`,
    )
    .action(async (flags: InitFlags) => {
      const { writeSchedule } = await import('../write-schedule.js');
      process.exitCode = await writeSchedule(flags);
    });
};
