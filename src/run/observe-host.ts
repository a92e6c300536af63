import { createHash } from 'node:crypto';
import { PREVIOUS, STAGED } from '../changes/file-names.js';
import type { Doors } from '../changes/change.js';
import { CertrollError } from '../core/errors.js';
import type { FileFact, HostFacts, ServiceFact, ServiceSpec } from '../hosts/host.js';
import type { ServiceAccountRef } from '../kube/api-server.js';
import {
  parseApiserverFlags,
  parseControllerManagerFlags,
  type ApiserverFlags,
  type ControllerManagerFlags,
} from '../kube/flags.js';
import { canonicalPem, kidOf, readVerificationKeys } from '../pem/keys.js';
import { describeProblem } from '../pem/read.js';
import { besideSigningFile } from '../steps/sa-keys/layout.js';
import { readPatiently, type Patience } from './patience.js';
import { requireClear, requireMounted, requireShared, sharedFolders } from './pod-files.js';
import type {
  CertificateState,
  FileState,
  HostState,
  KeyRef,
  Loaded,
  ServiceFlags,
  ServiceName,
  ServiceState,
  TokenLife,
} from '../trust/world.js';

/** How one host is looked at. */
export interface HostObserveOptions {
  readonly doors: Doors;
  readonly services: (host: string) => Readonly<Partial<Record<ServiceName, ServiceSpec>>>;
  readonly probe: ServiceAccountRef;
  /** `serviceAccounts.certificate` of the cluster file. */
  readonly certificate: string | undefined;
  /** Whether to look at what the key files were before their last change, too. */
  readonly previous?: boolean;
  /** Undefined: what is not there is not waited for. */
  readonly patience?: Patience;
  readonly progress: (text: string, host?: string) => void;
}

/** The files that services of a host verify or sign with, or will, and their siblings. */
export interface KeyFiles {
  readonly privateKeys: readonly string[];
  readonly publicFiles: readonly string[];
}

/** What one host was seen to hold and to run. */
export interface SeenHost {
  readonly state: HostState;
  readonly facts: HostFacts;
  readonly keyFiles: KeyFiles;
  /** Key file → SHA-256 of what was read; undefined where there is no file. */
  readonly sums: ReadonlyMap<string, string | undefined>;
  /** SubjectPublicKeyInfo (PEM) of every kid seen. */
  readonly publicKeys: ReadonlyMap<KeyRef, string>;
  readonly tokenLife: TokenLife | undefined;
  /** What could not be seen the best way, for people. */
  readonly notes: readonly string[];
}

/** What of one host's files and processes was read, before the apiservers were asked. */
interface HostReading {
  readonly name: string;
  readonly facts: HostFacts;
  readonly files: HostFacts['files'];
  readonly keyFiles: KeyFiles;
  readonly flags: Flags;
}

interface Flags {
  readonly running: Partial<Record<ServiceName, ServiceFlags>>;
  /** Those that a service would be started with now, where they are others. */
  readonly next: Partial<Record<ServiceName, ServiceFlags>>;
  readonly tokenLife: TokenLife | undefined;
  /** Every certificate file that any flag names. */
  readonly certificates: readonly string[];
}

const PROBE_TTL_SECONDS = 600;

const ofApiserver = ({ signingKeyFile, keyFiles, issuers }: ApiserverFlags): ServiceFlags => ({
  signingFile: signingKeyFile,
  verificationFiles: keyFiles,
  issuers,
});

const ofManager = ({ privateKeyFile }: ControllerManagerFlags): ServiceFlags => ({
  signingFile: privateKeyFile,
  verificationFiles: [],
  issuers: [],
});

const readerOf = (service: ServiceName) => (argv: readonly string[]) =>
  service === 'kube-apiserver'
    ? ofApiserver(parseApiserverFlags(argv))
    : ofManager(parseControllerManagerFlags(argv));

const SERVICES: readonly ServiceName[] = ['kube-apiserver', 'kube-controller-manager'];

const flagsOf = (facts: HostFacts): Flags => {
  const running: Partial<Record<ServiceName, ServiceFlags>> = {};
  const next: Partial<Record<ServiceName, ServiceFlags>> = {};
  for (const service of SERVICES) {
    const fact = facts.services.get(service);
    if (fact?.running !== true) continue;
    const read = readerOf(service);
    const now = read(fact.argv);
    const then = fact.nextArgv && read(fact.nextArgv);
    running[service] = now;
    if (then && JSON.stringify(then) !== JSON.stringify(now)) next[service] = then;
  }
  const argv = (service: ServiceName): readonly string[] => {
    const fact = facts.services.get(service);
    return fact?.running === true ? fact.argv : [];
  };
  const apiserver = parseApiserverFlags(argv('kube-apiserver'));
  return {
    running,
    next,
    tokenLife: running['kube-apiserver'] && apiserver.tokenLife,
    certificates: [
      ...apiserver.certificateFiles,
      ...parseControllerManagerFlags(argv('kube-controller-manager')).certificateFiles,
    ],
  };
};

/** Every file that a service signs with, now or after a start. */
const signingFiles = ({ running, next }: Flags): readonly string[] => [
  ...new Set(
    [...Object.values(running), ...Object.values(next)].flatMap(({ signingFile }) => signingFile ?? []),
  ),
];

const verificationFilesOf = ({ running, next }: Flags): readonly string[] => [
  ...new Set(
    [...Object.values(running), ...Object.values(next)].flatMap(({ verificationFiles }) => verificationFiles),
  ),
];

/** A file, what waits beside it to be installed, and (when asked) what it was before. */
const withSiblings = (path: string, { previous }: HostObserveOptions): readonly string[] => [
  path,
  path + STAGED,
  ...(previous === true ? [path + PREVIOUS] : []),
];

const keyFilesOf = (flags: Flags, options: HostObserveOptions): KeyFiles => {
  const signing = signingFiles(flags);
  const beside = signing.map(besideSigningFile);
  const configured = options.certificate === undefined ? [] : [options.certificate];
  const others = [...new Set([...verificationFilesOf(flags), ...beside, ...configured])];
  return {
    privateKeys: signing.flatMap((path) => withSiblings(path, options)),
    publicFiles: others
      .flatMap((path) => withSiblings(path, options))
      .filter((path) => !signing.includes(path)),
  };
};

/** Every file of the host that flags of a service name, now or at its next start. */
const filesNamed = (fact: ServiceFact): readonly string[] => {
  if (!fact.running) return [];
  const named = [fact.argv, ...(fact.nextArgv ? [fact.nextArgv] : [])].flatMap((argv) => {
    const { signingKeyFile, keyFiles, certificateFiles } = parseApiserverFlags(argv);
    const manager = parseControllerManagerFlags(argv);
    return [
      signingKeyFile,
      ...keyFiles,
      ...certificateFiles,
      manager.privateKeyFile,
      ...manager.certificateFiles,
    ];
  });
  return [...new Set(named.flatMap((path) => path ?? []))];
};

/** Sees that what the host shows is what its services read; throws `host.*` where that cannot be said. */
const requireJudgeable = (name: string, facts: HostFacts): void => {
  for (const [service, fact] of facts.services) {
    requireClear(name, service, fact);
    requireMounted(name, service, fact, filesNamed(fact));
  }
};

const isSame = (a: KeyFiles, b: KeyFiles): boolean => JSON.stringify(a) === JSON.stringify(b);

/**
 * Two round trips: first the processes, whose flags say which files to read in the second. One, where it is known by now
 * which files those are, and the flags still say so.
 */
const readHost = async (
  name: string,
  options: HostObserveOptions,
  known: KeyFiles | undefined,
): Promise<HostReading> => {
  const host = options.doors.host(name);
  options.progress('reading its processes', name);
  const facts = await readPatiently(
    async () => host.readFacts({ services: options.services(name), ...known }),
    options.patience,
    (text) => options.progress(text, name),
  );
  requireJudgeable(name, facts);
  const flags = flagsOf(facts);
  const keyFiles = keyFilesOf(flags, options);
  if (known && isSame(known, keyFiles)) return { name, facts, files: facts.files, keyFiles, flags };
  options.progress('reading its keys and certificates', name);
  const publicFiles = [...keyFiles.publicFiles, ...flags.certificates];
  const { files, notShared } = await host.readFacts({
    privateKeys: keyFiles.privateKeys,
    publicFiles: publicFiles.filter((path) => !signingFiles(flags).includes(path)),
    sharedFolders: [...facts.services.values()].flatMap((fact) => sharedFolders(fact, filesNamed(fact))),
  });
  for (const [service, fact] of facts.services)
    if (fact.running) requireShared(name, service, fact, notShared);
  return { name, facts, files, keyFiles, flags };
};

const certificateOf = (content: string): CertificateState | undefined => {
  const certificates = readVerificationKeys(content).keys.filter((key) => key.certificate);
  const soonest = certificates.sort(
    (a, b) => Number(a.certificate?.notAfter) - Number(b.certificate?.notAfter),
  )[0];
  return soonest?.certificate && { key: soonest.kid, notAfter: soonest.certificate.notAfter };
};

/** What a file holds as its consumer reads it; collects the public keys seen. */
const fileState = (
  fact: FileFact & { exists: true },
  isPrivate: boolean,
  seen: Map<KeyRef, string>,
): FileState => {
  if (fact.publicKeyPem !== undefined) {
    const kid = kidOf(fact.publicKeyPem);
    seen.set(kid, canonicalPem(fact.publicKeyPem));
    return { signingKey: kid, verificationKeys: [kid], problems: [] };
  }
  if (isPrivate) return { verificationKeys: [], problems: ['openssl cannot read a private key from it'] };
  const content = fact.content ?? '';
  const { keys, problems } = readVerificationKeys(content);
  for (const key of keys) seen.set(key.kid, key.publicKeyPem);
  const certificate = certificateOf(content);
  return {
    verificationKeys: keys.map((key) => key.kid),
    ...(certificate && { certificate }),
    problems: problems.map(describeProblem),
  };
};

/** Whether the process started after the file's last change: then it has loaded what the file holds now. */
const startedAfter = (service: ServiceFact, files: HostFacts['files'], paths: readonly string[]): boolean =>
  service.running &&
  paths.every((path) => {
    const file = files.get(path);
    return file?.exists === true && file.changedAtMs < service.startedAtMs;
  });

/** What a process must have loaded, judged by its start time and its files alone. */
const loadedByStart = (state: ServiceState, host: HostState, reading: HostReading): Loaded => {
  const fact = reading.facts.services.get(state.service);
  const paths = [...state.verificationFiles, ...(state.signingFile === undefined ? [] : [state.signingFile])];
  if (!fact || !startedAfter(fact, reading.files, paths))
    return { signs: undefined, verifies: [], how: 'unknown' };
  return {
    signs: state.signingFile === undefined ? undefined : host.files.get(state.signingFile)?.signingKey,
    verifies: state.verificationFiles.flatMap((path) => host.files.get(path)?.verificationKeys ?? []),
    how: 'process-start',
  };
};

/** What the live apiserver says of itself: its own key list, and the kid of a token it mints. */
const loadedByAsking = async (
  name: string,
  options: HostObserveOptions,
  seen: Map<KeyRef, string>,
): Promise<Loaded | undefined> => {
  const api = options.doors.api(name);
  options.progress('asking its kube-apiserver for its keys', name);
  try {
    const [jwks, minted] = await Promise.all([api.jwks(), api.mintToken(options.probe, PROBE_TTL_SECONDS)]);
    for (const [kid, pem] of jwks) seen.set(kid, canonicalPem(pem));
    return { signs: minted.kid, verifies: [...jwks.keys()], how: 'jwks' };
  } catch (thrown) {
    // Some clusters serve no key list, or not to us; then start times have to do. Anything else is a failure.
    if (
      thrown instanceof CertrollError &&
      (thrown.code === 'kube.forbidden' || thrown.code === 'kube.answer')
    )
      return undefined;
    throw thrown;
  }
};

/** What the service manager makes a service from, where that is one text. */
const definitionOf = (fact: ServiceFact | undefined): Pick<ServiceState, 'definition'> => {
  const content = fact?.manifest?.content;
  return content === undefined ? {} : { definition: createHash('sha256').update(content).digest('hex') };
};

const stateOf = async (
  reading: HostReading,
  options: HostObserveOptions,
  seen: Map<KeyRef, string>,
  notes: string[],
): Promise<HostState> => {
  const signing = new Set(signingFiles(reading.flags));
  const files = new Map<string, FileState>();
  for (const [path, fact] of reading.files) {
    const isPrivate = [...signing].some((key) => withSiblings(key, options).includes(path));
    if (fact.exists) files.set(path, fileState(fact, isPrivate, seen));
  }
  let host: HostState = { name: reading.name, files, services: new Map() };
  for (const service of SERVICES) {
    const flags = reading.flags.running[service];
    if (!flags) continue;
    const next = reading.flags.next[service];
    const blank: ServiceState = {
      service,
      ...flags,
      ...(next && { next }),
      ...definitionOf(reading.facts.services.get(service)),
      loaded: { signs: undefined, verifies: [], how: 'unknown' },
    };
    const asked =
      service === 'kube-apiserver' ? await loadedByAsking(reading.name, options, seen) : undefined;
    const loaded = asked ?? loadedByStart(blank, host, reading);
    if (service === 'kube-apiserver' && !asked) {
      notes.push(
        `${reading.name}: kube-apiserver does not tell its keys; judged by when it started (${loaded.how})`,
      );
    }
    host = { ...host, services: new Map(host.services).set(service, { ...blank, loaded }) };
  }
  return host;
};

/**
 * Observes one host: what its files hold, and what its processes have loaded. Changes nothing. Throws the errors of the
 * doors: what cannot be seen is never taken as well. `known`, from an earlier look, saves a round trip; the certificates
 * that other flags name are then left out.
 */
export const observeHost = async (
  name: string,
  options: HostObserveOptions,
  known?: KeyFiles,
): Promise<SeenHost> => {
  const reading = await readHost(name, options, known);
  const publicKeys = new Map<KeyRef, string>();
  const notes: string[] = [];
  const state = await stateOf(reading, options, publicKeys, notes);
  const { privateKeys, publicFiles } = reading.keyFiles;
  const sums = [...privateKeys, ...publicFiles].map((path) => {
    const file = reading.files.get(path);
    return [path, file?.exists === true ? file.sha256 : undefined] as const;
  });
  // The manifests too: what somebody has edited is not to be restarted, nor are keys to be laid beside it.
  const manifests = [...reading.facts.services.values()].flatMap(({ manifest }) =>
    manifest ? [[manifest.path, manifest.sha256] as const] : [],
  );
  return {
    state,
    facts: reading.facts,
    keyFiles: reading.keyFiles,
    sums: new Map([...sums, ...manifests]),
    publicKeys,
    tokenLife: reading.flags.tokenLife,
    notes,
  };
};
