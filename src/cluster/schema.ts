import { z } from 'zod';

/**
 * The cluster file: what certroll must be told about a cluster, and nothing it can see for itself
 * (paths of keys and bundles come from the running processes' flags). The published JSON Schema is
 * made from this.
 */
const DURATION = 'a duration with its unit, such as 90s, 15m, 12h or 30d';
const duration = z.string(DURATION).regex(/^(\d+(ms|s|m|h|d))+$/, DURATION);
/** A URL, and what one looks like for whoever wrote something else. */
const url = (example: string): z.ZodURL =>
  z.url({ protocol: /^https?$/, error: `a URL with its scheme, such as ${example}` });
const file = z
  .string()
  .regex(/^[^\r\n\0]+$/, 'the path of a file, not what is in it')
  .describe('A path on the bastion; relative to the cluster file, ~ is the home folder.');
const command = z.array(z.string()).min(1).describe('A program and its arguments, one a word.');
const secretRef = z
  .union([z.strictObject({ file }), z.strictObject({ env: z.string().min(1) }), z.strictObject({ command })])
  .describe('A secret by reference: read from a file, an environment variable, or what a command prints.');

const hostSet = z.strictObject({
  hosts: z
    .string()
    .min(1)
    .describe('Host expression, as ClusterShell and cumin write it: kubemaster[1001-1003].example.net'),
});

const service = z.union([
  z.strictObject({
    systemd: z
      .string()
      .regex(/^[A-Za-z0-9_@:.\\][A-Za-z0-9_@:.\\-]*$/, 'the name of a unit, such as kube-apiserver.service')
      .describe('Unit name, such as kube-apiserver.service'),
  }),
  z.strictObject({
    command: z.strictObject({
      restart: command.describe('Restarts the service on the host; {host} is its name.'),
      pidFile: z
        .string()
        .startsWith('/')
        .describe("Where the service notes its pid; {host} is the host's name."),
    }),
  }),
  z.strictObject({
    staticPod: z
      .string()
      .regex(
        /^(\/[^/\r\n\0]+)*\/[^./\r\n\0][^/\r\n\0]*$/,
        'the absolute path of a manifest, such as /etc/kubernetes/manifests/kube-apiserver.yaml; kubelet passes over names that begin with a dot',
      )
      .describe(
        'Manifest of the static pod on the host, in the folder that kubelet watches, such as /etc/kubernetes/manifests/kube-apiserver.yaml',
      ),
  }),
]);

const algorithm = z.enum(['rsa-2048', 'rsa-3072', 'rsa-4096', 'ecdsa-p256', 'ecdsa-p384']);

export const clusterFileSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, 'lower-case letters, digits and dashes')
    .describe('Names the cluster in the journal, the lock and the key registry.'),
  controlPlanes: hostSet,
  nodes: hostSet.optional(),
  ssh: z
    .strictObject({
      transport: z
        .enum(['ssh2', 'openssh'])
        .default('ssh2')
        .describe('openssh runs the system ssh: certificates, hardware keys, Match rules.'),
      config: file.optional().describe('OpenSSH client configuration. Default: ~/.ssh/config'),
      user: z.string().optional(),
      port: z.int().min(1).max(65535).optional(),
      identityFiles: z.array(file).optional(),
      agent: z.boolean().default(true),
      knownHosts: z.array(file).optional(),
      proxyJump: z.string().optional(),
      sudo: z.boolean().default(true),
      connectTimeout: duration.default('10s'),
    })
    .prefault({}),
  etcd: z.strictObject({
    endpoints: z.array(url('https://etcd1.example.net:2379')).min(1),
    ca: file.optional(),
    cert: file.optional(),
    key: file.optional(),
    serverName: z
      .string()
      .optional()
      .describe('The name that the etcd certificates carry, when it is not that of the endpoint.'),
    user: z.string().optional(),
    password: secretRef.optional(),
    prefix: z
      .string()
      .regex(/^(\/[A-Za-z0-9._-]+)+$/, 'a path such as /certroll')
      .default('/certroll')
      .describe('Where the key registry is kept.'),
    timeout: duration.default('5s'),
  }),
  lock: z
    .strictObject({
      name: z.string().min(1).default('apiserver-restart'),
      ttl: duration.default('30s'),
      wait: duration.default('10m'),
    })
    .prefault({}),
  api: z.strictObject({
    kubeconfig: file,
    context: z.string().optional(),
    port: z.int().min(1).max(65535).default(6443),
    serverName: z.string().default('kubernetes.default.svc'),
    timeout: duration.default('10s'),
    ports: z
      .record(z.string(), z.int().min(1).max(65535))
      .optional()
      .describe('Port per host, where they differ.'),
  }),
  serviceAccounts: z
    .strictObject({
      mode: z.enum(['per-host', 'shared']).default('per-host'),
      algorithm: algorithm.default('rsa-2048'),
      ttl: duration.default('365d').describe('Wished-for life of a new key, when an issuer certifies it.'),
      bundle: z
        .string()
        .optional()
        .describe('Which --service-account-key-file holds the published keys, when there are several.'),
      certificate: z
        .string()
        .optional()
        .describe('Where the certificate of the signing key lies, when no flag names it.'),
      soak: duration
        .optional()
        .describe(
          'How long an old key stays trusted after something last signed with it. Default: the longest life of a token that the running flags allow (365d with extended tokens).',
        ),
      jwksMaxAge: duration
        .default('0s')
        .describe(
          'How old a key list may be that is used outside of the cluster (Vault, OIDC federation): new keys wait that long before they sign. kube-apiserver lets it be kept for 1h. 0s: nobody outside verifies tokens.',
        ),
      probe: z
        .strictObject({ namespace: z.string(), name: z.string() })
        .default({ namespace: 'kube-system', name: 'default' })
        .describe('A service account that probe tokens are made for.'),
    })
    .prefault({}),
  issuer: z
    .discriminatedUnion('type', [
      z.strictObject({
        type: z.literal('local-ca'),
        cert: file,
        key: file,
        passphrase: secretRef.optional(),
      }),
      z.strictObject({
        type: z.literal('cfssl'),
        url: url('https://pki.example.net:8888'),
        ca: file.optional().describe('CA of the PKI server (TLS). Default: the system roots.'),
        cert: file.optional(),
        key: file.optional(),
        authKey: secretRef.optional(),
        label: z.string().optional(),
        profile: z.string().optional(),
      }),
      z.strictObject({ type: z.literal('none') }),
    ])
    .default({ type: 'none' }),
  services: z
    .strictObject({
      apiserver: service.default({ systemd: 'kube-apiserver.service' }),
      controllerManager: z
        .union([service, z.literal(false)])
        .default({ systemd: 'kube-controller-manager.service' }),
    })
    .prefault({}),
  restart: z
    .strictObject({
      drain: command.optional().describe('Run on the host, inside the lock, before its restart.'),
      undrain: command.optional(),
      readyTimeout: duration.default('120s'),
      readyTimes: z.int().min(1).default(3).describe('/readyz must answer 200 this many times in a row.'),
      settle: duration.default('5s').describe('Then wait for the load balancer: its interval × threshold.'),
    })
    .prefault({}),
  thresholds: z
    .strictObject({
      renewBefore: duration.default('30d'),
      clockSkew: duration.default('10s'),
      freeSpace: z
        .int()
        .min(0)
        .default(10_000_000)
        .describe('Bytes that must be free beside the files that are written.'),
    })
    .prefault({}),
});

/** A parsed cluster file: all defaults filled in, durations still text, paths still relative. */
export type ClusterFile = z.output<typeof clusterFileSchema>;
