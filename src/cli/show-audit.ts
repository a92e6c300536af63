import { setFlagsFromString } from 'node:v8';
import pLimit from 'p-limit';
import { clusterReport, unreadCluster, type AuditReport, type ClusterReport } from '../audit/report.js';
import { failing } from '../audit/rules.js';
import { clusterFiles } from '../cluster/fleet.js';
import { loadCluster, type Cluster } from '../cluster/load.js';
import { parseDuration } from '../core/duration.js';
import { CertrollError, EXIT } from '../core/errors.js';
import { writeAtomically } from '../core/write-atomically.js';
import { fanOut } from '../hosts/fan-out.js';
import { renderAuditHtml } from '../report/audit-html.js';
import { renderCheckmk, renderNagios, stateOf } from '../report/audit-monitoring.js';
import { renderAuditPrometheus } from '../report/audit-prometheus.js';
import { renderAuditTable } from '../report/audit-table.js';
import { auditCluster } from '../run/audit/cluster.js';
import { openAuditDoors } from '../run/audit/doors.js';
import type { AuditFlags } from './commands/audit.js';
import { auditProgress } from './audit-progress.js';
import { outputStyle, print } from './session.js';

type Format = AuditFlags['format'];
type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** Clusters whose files and answers are in memory at the same time. */
const CLUSTERS_AT_ONCE = 4;

const render = (report: AuditReport, format: Format, isFile: boolean): string => {
  switch (format) {
    case 'table': {
      const { color, unicode } = outputStyle();
      const width = !isFile && process.stdout.isTTY ? process.stdout.columns : Infinity;
      return renderAuditTable(report, { color: color && !isFile, unicode, width });
    }
    case 'json':
      return JSON.stringify(report);
    case 'prometheus':
      return renderAuditPrometheus(report).trimEnd();
    case 'html':
      return renderAuditHtml(report);
    case 'nagios':
      return renderNagios(report);
    case 'cmk':
      return renderCheckmk(report);
  }
};

const auditOne = async (
  cluster: Cluster,
  inTurn: InTurn,
  isWithSecrets: boolean,
  progress: (text: string, host?: string) => void,
): Promise<ClusterReport> => {
  const { renewBefore, clockSkew } = cluster.thresholds;
  const facts = await auditCluster(await openAuditDoors(cluster, inTurn, { secrets: isWithSecrets }), {
    limits: { renewBeforeMs: parseDuration(renewBefore), clockSkewMs: parseDuration(clockSkew) },
    now: () => new Date(),
    progress,
  });
  return clusterReport(facts);
};

/** Names are what metrics and checks tell clusters apart by: the second of a name would hide the first. */
const refuseSecond = (seen: Map<string, string>, { name }: Cluster, file: string): void => {
  const first = seen.get(name);
  seen.set(name, first ?? file);
  if (first === undefined) return;
  throw new CertrollError(`${file} names its cluster '${name}', as ${first} does`, {
    code: 'cluster-file.invalid',
    exit: EXIT.usage,
    hint: 'Give each cluster a name of its own.',
  });
};

/** Of one cluster its file must be right; among many a wrong one is a finding. */
const auditAll = async (
  files: readonly string[],
  inTurn: InTurn,
  isWithSecrets: boolean,
  progress: (text: string, host?: string) => void,
): Promise<readonly ClusterReport[]> => {
  const names = new Map<string, string>();
  return fanOut(
    files,
    async (file) => {
      try {
        const cluster = await loadCluster(file);
        refuseSecond(names, cluster, file);
        return await auditOne(cluster, inTurn, isWithSecrets, progress);
      } catch (thrown) {
        if (files.length === 1 || !(thrown instanceof CertrollError)) throw thrown;
        return unreadCluster(file, new Date(), thrown.message, thrown.hint);
      }
    },
    CLUSTERS_AT_ONCE,
  );
};

const exitOf = (report: AuditReport, { failOn, format }: AuditFlags): number => {
  const findings = report.clusters.flatMap((each) => each.findings);
  if (format === 'nagios') return stateOf(findings);
  // Its agent throws away what a cached check printed that did not exit 0.
  if (format === 'cmk') return EXIT.done;
  return failing(findings, failOn).length > 0 ? EXIT.findings : EXIT.done;
};

/** A plugin that fails must say so in its own way, or it would be taken for WARNING. */
const NAGIOS_UNKNOWN = 3;

/**
 * An audit of hundreds of hosts makes much that is thrown away at once. Told to favour size, V8 collects it sooner: measured
 * on 300 hosts, half the memory for a sixth more processor time (`npm run bench:audit` has both). A matter of when to
 * collect, so that it may still be said to a VM that runs.
 */
const favourMemory = (): void => setFlagsFromString('--optimize-for-size');

/** `certroll audit`; exit 3 when there are findings at or above `--fail-on`. */
export const showAudit = async (given: AuditFlags): Promise<number> => {
  const flags = given.json === true ? { ...given, format: 'json' as const } : given;
  favourMemory();
  const progress = await auditProgress();
  try {
    const files = await clusterFiles(flags.cluster);
    const clusters = await auditAll(files, pLimit(flags.atOnce), flags.secrets === true, progress.show);
    const report = { version: 1 as const, at: new Date().toISOString(), clusters: [...clusters] };
    progress.end();
    const text = render(report, flags.format, flags.output !== undefined);
    if (flags.output === undefined) print(text);
    else await writeAtomically(flags.output, `${text}\n`);
    return exitOf(report, flags);
  } catch (thrown) {
    if (flags.format !== 'nagios' || !(thrown instanceof CertrollError)) throw thrown;
    progress.end();
    print(`CERTROLL UNKNOWN - ${thrown.message.split('\n')[0] ?? ''}`);
    return NAGIOS_UNKNOWN;
  } finally {
    progress.end();
  }
};
