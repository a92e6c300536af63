import { auditReportSchema, type ClusterReport } from '../../../src/audit/report.js';
import { certroll } from '../../support/certroll.js';
import type { Dates } from './peers.js';

/** What certroll says of the one cluster of a cluster file. Throws when it says nothing. */
export const audit = async (clusterFile: string): Promise<ClusterReport> => {
  const finished = await certroll(['audit', '-c', clusterFile, '--format', 'json']);
  const [cluster] = auditReportSchema.parse(JSON.parse(finished.stdout)).clusters;
  if (!cluster) throw new Error(`no cluster in the report: ${finished.stderr}`);
  return cluster;
};

/** File → the end of the first certificate that it shows, by an audit; a kubeconfig by the client certificate in it. */
export const datesOn = (cluster: ClusterReport, fqdn: string): Dates =>
  new Map(
    cluster.items
      .filter(({ host, kind, onDisk }) => host === fqdn && kind !== 'key' && onDisk.certificates.length > 0)
      .filter(({ path }) => !path.includes('#') || path.endsWith('#client-certificate'))
      .map(({ path, onDisk }) => [
        path.replace(/#.*/, ''),
        onDisk.certificates[0]?.notAfter.replace(/\.\d+Z$/, 'Z') ?? '',
      ]),
  );
