import { z } from 'zod';
import type { BundleObject } from '../kube/trust-objects.js';
import type { CertificateView } from '../pem/x509.js';
import { COMPONENTS } from './consumers.js';
import { kidOfCertificate, readFile } from './content.js';
import type { ClusterFacts } from './facts.js';
import type { FileState, Item } from './inventory.js';
import { authorityMatrix, issuerOf, keyMatrix, type Verdict } from './matrix.js';
import { SEVERITIES } from './rule.js';
import { findingsOf } from './rules.js';

const time = z.string().describe('ISO 8601, UTC.');

const certificate = z.strictObject({
  subject: z.string(),
  issuer: z.string(),
  serial: z.string().describe('Upper-case hex.'),
  notBefore: time,
  notAfter: time,
  isCa: z.boolean(),
  kid: z.string().describe('base64url of the SHA-256 of its public key (PKIX).'),
  sha256: z.string().describe('Fingerprint of the certificate, lower-case hex.'),
  names: z.string().optional().describe('Subject alternative names, as openssl writes them.'),
});

const item = z.strictObject({
  host: z.string(),
  component: z.enum(COMPONENTS),
  pid: z.int(),
  role: z.string(),
  kind: z.enum([
    'certificate',
    'key',
    'authorities',
    'issuer',
    'signing-key',
    'verification-keys',
    'kubeconfig',
    'other',
  ]),
  named: z.string().describe('The flag or the configuration that names the file.'),
  path: z.string().describe('As the process sees it; #NAME is data inside of a kubeconfig.'),
  reload: z.enum(['live', 'restart']).describe('Whether the process reads it again by itself.'),
  onDisk: z.strictObject({
    state: z.enum(['present', 'absent', 'unreadable', 'embedded']),
    mode: z.string().optional(),
    owner: z.string().optional(),
    group: z.string().optional(),
    changedAt: time.optional(),
    linkTo: z.string().optional(),
    loads: z.boolean().optional().describe('Whether its reader would take it.'),
    certificates: z.array(certificate),
    kids: z.array(z.string()),
    problems: z.array(z.string()),
  }),
  served: z
    .strictObject({
      address: z.string(),
      certificates: z.array(certificate),
      authorities: z.array(z.string()),
    })
    .optional(),
  loaded: z.strictObject({
    state: z.enum(['same', 'stale', 'unknown']),
    how: z.enum(['served', 'start time', 'reloads by itself', 'not seen']),
  }),
});

const verdict = z.enum(['yes', 'no', 'unknown']);

const finding = z.strictObject({
  rule: z.string(),
  severity: z.enum(SEVERITIES),
  host: z.string().optional(),
  component: z.string().optional(),
  subject: z.string(),
  text: z.string(),
  why: z.string(),
  action: z.string(),
});

const cluster = z.strictObject({
  name: z.string(),
  at: time,
  renewBeforeMs: z
    .number()
    .describe('thresholds.renewBefore of the cluster file: what ends sooner than that is due.'),
  hosts: z.array(
    z.strictObject({
      name: z.string(),
      role: z.enum(['control-plane', 'node']),
      clockOffsetMs: z.number().describe("Host's clock minus the bastion's."),
      processes: z.array(
        z.strictObject({
          component: z.enum(COMPONENTS),
          pid: z.int(),
          startedAt: time,
          user: z.string(),
          unit: z.string().optional(),
        }),
      ),
    }),
  ),
  notSeen: z.array(z.string()).describe('Hosts and apiservers that could not be looked at.'),
  items: z.array(item),
  objects: z
    .array(
      z.strictObject({
        kind: z.string(),
        namespace: z.string().optional(),
        name: z.string(),
        part: z.string(),
        certificates: z.array(certificate),
        problems: z.array(z.string()),
      }),
    )
    .describe('Bundles of authorities in the API, and the TLS Secrets where they were asked for.'),
  keys: z.array(
    z.strictObject({
      kid: z.string(),
      signers: z.array(z.string()),
      apiservers: z.array(z.strictObject({ host: z.string(), disk: verdict, loaded: verdict })),
    }),
  ),
  authorities: z.array(
    z.strictObject({
      channel: z.string(),
      name: z.string(),
      kid: z.string().optional(),
      presenters: z.array(z.string()),
      verifiers: z.array(
        z.strictObject({ process: z.string(), named: z.string(), disk: verdict, loaded: verdict }),
      ),
    }),
  ),
  findings: z.array(finding),
});

/** What `certroll audit --format json` prints; the published JSON Schema is made from this. */
export const auditReportSchema = z.strictObject({
  version: z.literal(1).describe('Of this format; a field that is added does not change it.'),
  at: time,
  clusters: z.array(cluster),
});

export type AuditReport = z.output<typeof auditReportSchema>;
export type ClusterReport = z.output<typeof cluster>;
export type ItemReport = z.output<typeof item>;
export type FindingReport = z.output<typeof finding>;
export type CertificateReport = z.output<typeof certificate>;

const certificateReport = (view: CertificateView): CertificateReport => ({
  subject: view.subject,
  issuer: issuerOf(view),
  serial: view.serial,
  notBefore: view.notBefore.toISOString(),
  notAfter: view.notAfter.toISOString(),
  isCa: view.isCa,
  kid: kidOfCertificate(view.pem),
  sha256: view.node.fingerprint256.replaceAll(':', '').toLowerCase(),
  ...(view.node.subjectAltName !== undefined && { names: view.node.subjectAltName }),
});

const fileReport = (
  file: FileState | undefined,
  isEmbedded: boolean,
): Omit<ItemReport['onDisk'], 'loads' | 'certificates' | 'kids' | 'problems'> => {
  if (file?.kind !== 'file') return { state: file?.kind ?? 'unreadable' };
  return {
    state: isEmbedded ? 'embedded' : 'present',
    mode: file.mode.toString(8).padStart(4, '0'),
    owner: file.owner,
    group: file.group,
    changedAt: new Date(file.changedAtMs).toISOString(),
    ...(file.linkTo !== undefined && { linkTo: file.linkTo }),
  };
};

const itemReport = (each: Item): ItemReport => ({
  ...{ host: each.host, component: each.component, pid: each.pid, role: each.role, kind: each.kind },
  ...{ named: each.named, path: each.path, reload: each.reload },
  onDisk: {
    ...fileReport(each.file, each.embedded !== undefined),
    ...(each.loads !== undefined && { loads: each.loads }),
    certificates: each.certificates.map(certificateReport),
    kids: [...each.kids],
    problems: [...each.problems],
  },
  ...(each.served && {
    served: {
      address: each.served.address,
      certificates: each.served.certificates.map(certificateReport),
      authorities: [...each.served.authorities],
    },
  }),
  loaded: each.loaded,
});

const word = (given: Verdict): z.output<typeof verdict> =>
  given === undefined ? 'unknown' : given ? 'yes' : 'no';

const objectsOf = ({ objects }: ClusterFacts): ClusterReport['objects'] => {
  const report = (
    { kind, namespace, name, part, pem }: Omit<BundleObject, 'serves'>,
    as: 'authorities' | 'certificate',
  ): ClusterReport['objects'][number] => {
    const { certificates, problems } = readFile({ kind: as, parser: 'kube-ca', text: pem });
    return {
      ...{ kind, name, part, ...(namespace !== undefined && { namespace }) },
      ...{ certificates: certificates.map(certificateReport), problems: [...problems] },
    };
  };
  return [
    ...(objects?.bundles ?? []).map((bundle) => report(bundle, 'authorities')),
    ...(objects?.secrets ?? []).map((secret) =>
      report({ ...secret, kind: 'Secret', part: 'data.tls.crt' }, 'certificate'),
    ),
  ];
};

/** What was seen of a cluster and what is to be said of it, without anything that only this process understands. Pure. */
export const clusterReport = (facts: ClusterFacts): ClusterReport => ({
  name: facts.cluster,
  at: facts.now.toISOString(),
  renewBeforeMs: facts.limits.renewBeforeMs,
  hosts: facts.hosts.map(({ name, role, clockOffsetMs, processes }) => ({
    ...{ name, role, clockOffsetMs },
    processes: processes.map(({ component, pid, startedAtMs, user, unit }) => ({
      ...{ component, pid, startedAt: new Date(startedAtMs).toISOString(), user },
      ...(unit !== undefined && { unit }),
    })),
  })),
  notSeen: facts.failures.map(({ host, text }) =>
    host === undefined || text.includes(host) ? text : `${host}: ${text}`,
  ),
  items: facts.hosts.flatMap(({ items }) => items.map(itemReport)),
  objects: objectsOf(facts),
  keys: keyMatrix(facts).map(({ kid, signers, apiservers }) => ({
    ...{ kid, signers: [...signers] },
    apiservers: apiservers.map(({ host, disk, loaded }) => ({
      host,
      disk: word(disk),
      loaded: word(loaded),
    })),
  })),
  authorities: authorityMatrix(facts).map(({ channel, authority, presenters, verifiers }) => ({
    ...{ channel, name: authority.name, ...(authority.kid !== undefined && { kid: authority.kid }) },
    presenters: [...presenters],
    verifiers: verifiers.map(({ process, named, disk, loaded }) => ({
      ...{ process, named, disk: word(disk), loaded: word(loaded) },
    })),
  })),
  findings: findingsOf(facts).map((each) => ({ ...each })),
});

/** A cluster whose file could not be used: all that is known of it is why. Pure. */
export const unreadCluster = (name: string, now: Date, text: string, hint?: string): ClusterReport =>
  clusterReport({
    cluster: name,
    now,
    limits: { renewBeforeMs: 0, clockSkewMs: 0 },
    hosts: [],
    failures: [{ host: undefined, text, hint }],
    jwks: new Map(),
  });
