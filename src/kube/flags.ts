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

/** What of kube-apiserver's flags matters here. Paths are as written; relative ones are not resolved. */
export interface ApiserverFlags {
  readonly signingKeyFile: string | undefined;
  /** Without the flag, older kube-apiservers verify with their TLS private key; 1.34 does not start. */
  readonly keyFiles: readonly string[];
  readonly issuers: readonly string[];
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
