import type { Cluster } from '../cluster/load.js';
import { loadCluster } from '../cluster/load.js';
import { parseDuration } from '../core/duration.js';
import type { Emit } from '../run/emit.js';
import { applySettings, openDoors, servicesOn, type OpenDoors } from '../run/doors.js';
import type { ObserveOptions } from '../run/observe.js';
import { jsonReporter, lineReporter, quietReporter } from '../report/lines.js';
import type { Reporter } from '../report/events.js';

/** A cluster with its doors open. */
export interface Session {
  readonly cluster: Cluster;
  readonly doors: OpenDoors;
  readonly observation: Omit<ObserveOptions, 'progress'>;
}

/** Opens a session, hands it to `use`, and closes it whatever happens. */
export const withSession = async <T>(
  clusterFile: string,
  use: (session: Session) => Promise<T>,
): Promise<T> => {
  const cluster = await loadCluster(clusterFile);
  const doors = await openDoors(cluster);
  try {
    return await use({
      cluster,
      doors,
      observation: {
        cluster: cluster.name,
        hosts: cluster.hosts.controlPlanes,
        doors,
        services: (host) => servicesOn(cluster, host),
        registryPrefix: applySettings(cluster).registryPrefix,
        probe: cluster.serviceAccounts.probe,
        certificate: cluster.serviceAccounts.certificate,
        soakMs:
          cluster.serviceAccounts.soak === undefined
            ? undefined
            : parseDuration(cluster.serviceAccounts.soak),
        legacyTokens: false,
        now: () => new Date(),
      },
    });
  } finally {
    await doors.close();
  }
};

/** JSON or warnings only when asked for, live on a terminal, else one line per event on standard error. */
export const chooseReporter = async (
  asked: { readonly json?: boolean; readonly quiet?: boolean } = {},
): Promise<Reporter> => {
  if (asked.json === true) return jsonReporter((line) => process.stdout.write(line));
  if (asked.quiet === true) return quietReporter((line) => process.stderr.write(line));
  if (!process.stderr.isTTY) return lineReporter((line) => process.stderr.write(line));
  const { liveReporter } = await import('../report/live.js');
  return liveReporter(process.stderr);
};

/** Adds the time to events. */
export const emitTo =
  (reporter: Reporter): Emit =>
  (event) =>
    reporter.show({ at: new Date(), ...event });

/** How output on standard output may look. */
export const outputStyle = (): { readonly color: boolean; readonly unicode: boolean } => ({
  color: process.stdout.isTTY && process.env['NO_COLOR'] === undefined,
  unicode: /utf-?8/i.test(process.env['LC_ALL'] ?? process.env['LC_CTYPE'] ?? process.env['LANG'] ?? ''),
});

export const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};
