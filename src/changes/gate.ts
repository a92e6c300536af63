import { formatDuration } from '../core/duration.js';
import { CertrollError, EXIT } from '../core/errors.js';
import { assembleToken, digestOf, probeTokenInput } from '../kube/probe-token.js';
import { hostOf, type KeyRecord, type KeyRef, type ServiceName, type World } from '../trust/world.js';
import type { ApplyContext } from './change.js';
import { describeKeys } from './describe-keys.js';
import { readRegistry } from './registry.js';

/** A predicate that the model predicts to hold and that the run checks on the live cluster before it goes on. */
export type Gate = KeysAccepted | SignsWith | Waited;

/**
 * Every apiserver, asked at its own address, lists every key and accepts a token signed with each key whose private
 * half lies (staged or live) on a host.
 */
export interface KeysAccepted {
  readonly kind: 'keys-accepted';
  readonly keys: readonly { readonly key: KeyRef; readonly host: string; readonly path: string }[];
}

/** A token minted on that host carries this key and is accepted by every apiserver. */
export interface SignsWith {
  readonly kind: 'signs-with';
  readonly host: string;
  readonly service: ServiceName;
  readonly key: KeyRef;
}

/** Enough time has passed. The run does not sit and wait: it ends as waiting (exit 7), and the next one goes on. */
export interface Waited {
  readonly kind: 'waited';
  readonly keys: readonly KeyRef[];
  /** Counted from when the keys came to be accepted, or from when something last signed with them. */
  readonly from: 'accepted' | 'last-signed';
  /** Milliseconds. */
  readonly ms: number;
  /** What the time is for, for people. */
  readonly why: string;
}

export const describeGate = (gate: Gate): string => {
  switch (gate.kind) {
    case 'keys-accepted':
      return `every apiserver accepts ${describeKeys([...new Set(gate.keys.map(({ key }) => key))])}`;
    case 'signs-with':
      return `tokens minted on ${gate.host} carry ${gate.key} and are accepted by every apiserver`;
    case 'waited':
      return `${formatDuration(gate.ms)} since ${describeKeys(gate.keys)} ${gate.from === 'accepted' ? 'came to be accepted' : 'last signed'}: ${gate.why}`;
  }
};

/** When the time of a wait is over, by the records of its keys. */
const waitEnds = (gate: Waited, records: ReadonlyMap<KeyRef, KeyRecord>, now: Date): Date => {
  const starts = gate.keys.map((key) => {
    const record = records.get(key);
    return (gate.from === 'accepted' ? record?.since : (record?.lastSigned ?? record?.since)) ?? now;
  });
  return new Date(Math.max(...starts.map(Number), 0) + gate.ms);
};

/** What a gate makes of the world: behind a wait it is later. Pure. */
export const modelGate = (gate: Gate, world: World): World => {
  if (gate.kind !== 'waited') return world;
  const ends = waitEnds(gate, world.keys, world.now);
  return ends > world.now ? { ...world, now: ends } : world;
};

const verifiers = (world: World): ReadonlySet<KeyRef>[] =>
  [...world.hosts.values()].flatMap((host) => {
    const apiserver = host.services.get('kube-apiserver');
    return apiserver ? [new Set(apiserver.loaded.verifies)] : [];
  });

/** Whether the model predicts the gate to hold in this world. Pure. */
export const predictGate = (gate: Gate, world: World): boolean => {
  if (gate.kind === 'waited') return true;
  const keys = gate.kind === 'keys-accepted' ? gate.keys.map(({ key }) => key) : [gate.key];
  const accepted = verifiers(world).every((loaded) => keys.every((key) => loaded.has(key)));
  if (gate.kind === 'keys-accepted') return accepted;
  return accepted && hostOf(world, gate.host).services.get(gate.service)?.loaded.signs === gate.key;
};

const GATE_TIMEOUT_MS = 60_000;
const PROBE_TTL_SECONDS = 600;

const refuse = (text: string, host: string, hint: string): CertrollError =>
  new CertrollError(text, { code: 'gate.refused', exit: EXIT.refused, host, hint });

/** Polls the apiserver's own key list until it holds all the kids. */
const checkListed = async (
  apiHost: string,
  kids: readonly string[],
  context: ApplyContext,
): Promise<void> => {
  const api = context.doors.api(apiHost);
  const listed = await context.timers.poll(
    async () => {
      const loaded = await api.jwks();
      return kids.every((kid) => loaded.has(kid)) ? true : undefined;
    },
    { timeoutMs: GATE_TIMEOUT_MS, signal: context.signal },
  );
  if (listed) return;
  const loaded = await api.jwks();
  const missing = kids.filter((kid) => !loaded.has(kid));
  throw refuse(
    `${apiHost}: the running kube-apiserver does not list ${missing.join(', ')} among its keys`,
    apiHost,
    'Nothing was promoted. See whether its --service-account-key-file flags name the file that was written, and whether it was restarted; then run again.',
  );
};

/** Shows a token to every apiserver; each must accept it. */
const checkAccepted = async (token: string, what: string, context: ApplyContext): Promise<void> => {
  for (const apiHost of context.doors.apiHosts) {
    const review = await context.doors.api(apiHost).reviewToken(token);
    if (review.authenticated) continue;
    throw refuse(
      `${apiHost}: ${what} is refused: ${review.error ?? 'no reason given'}`,
      apiHost,
      'Nothing was promoted after this. See the apiserver log on that host.',
    );
  }
};

/** A token signed on the host that holds the key: the key itself stays there. */
const probeToken = async (probe: KeysAccepted['keys'][number], context: ApplyContext): Promise<string> => {
  const { doors, settings } = context;
  const api = doors.api(probe.host);
  const [sample, uid] = await Promise.all([
    api.mintToken(settings.probe, PROBE_TTL_SECONDS),
    api.serviceAccountUid(settings.probe),
  ]);
  const { kid, publicKeyPem } = context.keys.resolve(probe.key);
  const input = probeTokenInput({
    issuer: sample.issuer,
    audiences: sample.audiences,
    serviceAccount: settings.probe,
    uid,
    kid,
    publicKeyPem,
    now: context.now(),
    ttlSeconds: PROBE_TTL_SECONDS,
  });
  const signature = await doors.host(probe.host).sign(probe.path, Buffer.from(input), digestOf(publicKeyPem));
  return assembleToken(input, signature, publicKeyPem);
};

const checkWaited = async (gate: Waited, context: ApplyContext): Promise<void> => {
  const { records } = await readRegistry(
    context.doors.store,
    context.settings.registryPrefix,
    context.cluster,
  );
  const byKid = new Map(records.map((record) => [record.key, record]));
  const kids = gate.keys.map((key) => context.keys.resolve(key).kid);
  const ends = waitEnds({ ...gate, keys: kids }, byKid, context.now());
  if (ends <= context.now()) return;
  const until = ends.toISOString();
  throw new CertrollError(`waiting until ${until}: ${gate.why}`, {
    code: 'run.waiting',
    exit: EXIT.waiting,
    hint: `All is well and nothing is lost: run the same command again after ${until}, or leave it to cron.`,
  });
};

/** Checks the gate on the live cluster. Throws `run.waiting` (exit 7), `gate.refused` (exit 4), or the error of the door. */
export const checkGate = async (gate: Gate, context: ApplyContext): Promise<void> => {
  switch (gate.kind) {
    case 'keys-accepted': {
      const kids = gate.keys.map(({ key }) => context.keys.resolve(key).kid);
      for (const apiHost of context.doors.apiHosts) {
        context.progress(`listing its keys`, apiHost);
        await checkListed(apiHost, kids, context);
      }
      for (const probe of gate.keys) {
        context.progress('signing a probe token', probe.host);
        await checkAccepted(
          await probeToken(probe, context),
          `a probe token signed with the new key of ${probe.host}`,
          context,
        );
      }
      return;
    }
    case 'signs-with': {
      const minted = await context.doors.api(gate.host).mintToken(context.settings.probe, PROBE_TTL_SECONDS);
      const { kid } = context.keys.resolve(gate.key);
      if (minted.kid !== kid) {
        throw refuse(
          `${gate.host}: a token minted there carries kid ${minted.kid}, not the promoted ${kid}`,
          gate.host,
          'See which file its --service-account-signing-key-file names; the other hosts were left alone.',
        );
      }
      await checkAccepted(minted.token, `a token minted on ${gate.host}`, context);
      return;
    }
    case 'waited':
      return checkWaited(gate, context);
  }
};
