/** Flags of a running process, read from its own arguments. */
export type Flags = ReadonlyMap<string, readonly string[]>;

/**
 * Every `--name=value` and `--name value`, as pflag reads them in Kubernetes: a flag without a value is `true`, an
 * underscore in a name is a dash (component-base cli/flag), nothing behind a lone `--` is a flag.
 */
export const readFlags = (argv: readonly string[]): Flags => {
  const flags = new Map<string, string[]>();
  for (const [at, word] of argv.entries()) {
    if (word === '--') break;
    if (!word.startsWith('--')) continue;
    const equals = word.indexOf('=');
    const name = word.slice(2, equals < 0 ? undefined : equals).replaceAll('_', '-');
    const next = argv[at + 1];
    const value =
      equals >= 0 ? word.slice(equals + 1) : next !== undefined && !next.startsWith('--') ? next : 'true';
    flags.set(name, [...(flags.get(name) ?? []), value]);
  }
  return flags;
};

/** Of a flag that takes one value the last one counts. */
const single = (flags: Flags, name: string): string | undefined => {
  const value = flags.get(name)?.at(-1);
  return value === '' ? undefined : value;
};

/** pflag's StringArray: repeated. A comma is part of the value, unlike in a StringSlice. */
const repeated = (flags: Flags, name: string): readonly string[] =>
  (flags.get(name) ?? []).filter((value) => value !== '');

const named = (flags: Flags, names: readonly string[]): readonly string[] => [
  ...new Set(names.flatMap((name) => single(flags, name) ?? [])),
];

/** The life that kube-apiserver gives to tokens it extends (serviceaccount.ExpirationExtensionSeconds: a year). */
const EXTENDED_MS = 365 * 86_400_000;

/** The life that the kubelet asks for, and that is extended (WarnOnlyBoundTokenExpirationPeriod), milliseconds. */
const EXTENDABLE_MS = 3607 * 1000;

/** Go's own way to write a duration, such as 24h0m0s or 1.5h; undefined for anything else. */
const goDuration = (text: string): number | undefined => {
  if (!/^(\d+(\.\d+)?(h|m|s|ms))+$/.test(text)) return undefined;
  const units: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };
  return [...text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (units[unit ?? ''] ?? NaN),
    0,
  );
};

/**
 * The longest life of a token that these flags allow, milliseconds, and why. Tokens that the kubelet asks for are
 * extended to a year unless the flag says otherwise or the cap is shorter than what the kubelet asks for; without a cap a
 * client may ask for any life at all, which nothing could wait for: a year is assumed.
 * Source: kubernetes pkg/registry/core/serviceaccount/storage/token.go.
 */
const tokenLifeOf = (flags: Flags): { readonly maxMs: number; readonly why: string } => {
  const cap = goDuration(single(flags, 'service-account-max-token-expiration') ?? '') ?? 0;
  const extends_ = single(flags, 'service-account-extend-token-expiration') !== 'false';
  if (cap === 0)
    return {
      maxMs: EXTENDED_MS,
      why: extends_
        ? 'extended tokens live for a year'
        : 'no --service-account-max-token-expiration caps what a client may ask for; a year is assumed',
    };
  if (extends_ && cap >= EXTENDABLE_MS && cap < EXTENDED_MS)
    return { maxMs: EXTENDED_MS, why: 'extended tokens live for a year, whatever the cap' };
  return { maxMs: cap, why: '--service-account-max-token-expiration' };
};

/** What of kube-apiserver's flags matters here. Paths are as written; relative ones are not resolved. */
export interface ApiserverFlags {
  readonly signingKeyFile: string | undefined;
  /** Without the flag, older kube-apiservers verify with their TLS private key; 1.34 does not start. */
  readonly keyFiles: readonly string[];
  readonly issuers: readonly string[];
  readonly tokenLife: { readonly maxMs: number; readonly why: string };
  /** Set with an external signer (KEP-740): then there are no key files. */
  readonly signingEndpoint: string | undefined;
  /** Every file that holds a certificate: serving, client CAs, client pairs. */
  readonly certificateFiles: readonly string[];
}

export const parseApiserverFlags = (argv: readonly string[]): ApiserverFlags => {
  const flags = readFlags(argv);
  const signingEndpoint = single(flags, 'service-account-signing-endpoint');
  const keyFiles = repeated(flags, 'service-account-key-file');
  const tlsKey = single(flags, 'tls-private-key-file');
  return {
    signingKeyFile: single(flags, 'service-account-signing-key-file'),
    keyFiles:
      keyFiles.length > 0 || signingEndpoint !== undefined || tlsKey === undefined ? keyFiles : [tlsKey],
    issuers: repeated(flags, 'service-account-issuer'),
    tokenLife: tokenLifeOf(flags),
    signingEndpoint,
    certificateFiles: named(flags, [
      'tls-cert-file',
      'client-ca-file',
      'requestheader-client-ca-file',
      'proxy-client-cert-file',
      'kubelet-client-certificate',
      'kubelet-certificate-authority',
      'etcd-cafile',
      'etcd-certfile',
    ]),
  };
};

/** A certificate and the private key that must belong to it, by their flags. */
export interface FilePair {
  readonly certificate: string;
  readonly key: string;
}

/** What a control-plane process reads when it starts, and would not start without. */
export interface StartFiles {
  readonly pairs: readonly FilePair[];
  /** Bundles of certificate authorities that Kubernetes' own parser reads. */
  readonly bundles: readonly string[];
  /** The bundle that the etcd client's parser reads. */
  readonly etcdBundle: string | undefined;
  readonly signingKeys: readonly string[];
  readonly verificationKeys: readonly string[];
  /** Read, whatever is in them. */
  readonly others: readonly string[];
  readonly etcdServers: readonly string[];
  readonly etcdPair: FilePair | undefined;
}

const PAIRS = [
  ['tls-cert-file', 'tls-private-key-file'],
  ['proxy-client-cert-file', 'proxy-client-key-file'],
  ['kubelet-client-certificate', 'kubelet-client-key'],
  ['etcd-certfile', 'etcd-keyfile'],
  ['cluster-signing-cert-file', 'cluster-signing-key-file'],
] as const;

const pairOf = (flags: Flags, [certificate, key]: readonly [string, string]): readonly FilePair[] => {
  const [cert, privateKey] = [single(flags, certificate), single(flags, key)];
  return cert === undefined || privateKey === undefined ? [] : [{ certificate: cert, key: privateKey }];
};

/** Of kube-apiserver and kube-controller-manager alike: a flag that one of them has not is not there. */
export const parseStartFiles = (argv: readonly string[]): StartFiles => {
  const flags = readFlags(argv);
  const paths = (names: readonly string[]): readonly string[] => named(flags, names);
  return {
    pairs: PAIRS.flatMap((pair) => pairOf(flags, pair)),
    bundles: paths([
      'client-ca-file',
      'requestheader-client-ca-file',
      'kubelet-certificate-authority',
      'root-ca-file',
    ]),
    etcdBundle: single(flags, 'etcd-cafile'),
    signingKeys: paths(['service-account-signing-key-file', 'service-account-private-key-file']),
    verificationKeys: repeated(flags, 'service-account-key-file'),
    others: paths([
      'kubeconfig',
      'authentication-kubeconfig',
      'authorization-kubeconfig',
      'encryption-provider-config',
      'audit-policy-file',
      'admission-control-config-file',
      'egress-selector-config-file',
    ]),
    etcdServers: (single(flags, 'etcd-servers') ?? '').split(',').filter((url) => url !== ''),
    etcdPair: pairOf(flags, ['etcd-certfile', 'etcd-keyfile'])[0],
  };
};

/** What of kube-controller-manager's flags matters here. */
export interface ControllerManagerFlags {
  readonly privateKeyFile: string | undefined;
  readonly certificateFiles: readonly string[];
}

export const parseControllerManagerFlags = (argv: readonly string[]): ControllerManagerFlags => {
  const flags = readFlags(argv);
  return {
    privateKeyFile: single(flags, 'service-account-private-key-file'),
    certificateFiles: named(flags, [
      'root-ca-file',
      'cluster-signing-cert-file',
      'tls-cert-file',
      'client-ca-file',
      'requestheader-client-ca-file',
    ]),
  };
};

/** The name that an apiserver takes its own certificate for, made anew at each start (k8s.io/apiserver pkg/server/options/serving_with_loopback.go). */
export const LOOPBACK_NAME = 'apiserver-loopback-client';

const reach = (address: string | undefined): string =>
  address === undefined || address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address;

/**
 * Where a process that binds to that address is reached on its own host: `ADDRESS:PORT`, an IPv6 address in brackets,
 * the loopback address for all addresses.
 */
export const ownAddress = (bind: string | undefined, port: string): string => {
  const address = reach(bind);
  return address.includes(':') && !address.startsWith('[') ? `[${address}]:${port}` : `${address}:${port}`;
};

/** Where a kube-apiserver with these arguments serves, on its own host. */
export const apiserverAddress = (argv: readonly string[]): string => {
  const flags = readFlags(argv);
  return ownAddress(single(flags, 'bind-address'), single(flags, 'secure-port') ?? '6443');
};
