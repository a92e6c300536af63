import { posix } from 'node:path';
import { parseAllDocuments, type Document } from 'yaml';
import { z } from 'zod';
import { messageOf } from '../../core/errors.js';
import type { Mount } from '../host.js';
import { asWritten, couldBe, expand, type Expanded } from './expand.js';

/** Where certroll notes on a pod when it had it restarted: kubelet takes a pod whose manifest says something else for another. */
export const RESTARTED_AT = 'certroll.dev/restarted-at';

/** kubelet's own default of terminationGracePeriodSeconds. */
const GRACE_SECONDS = 30;

/** Aliases that may be used; expanded, a few lines of them could fill the memory. */
const MOST_ALIASES = 100;

// Only what is used here; a pod has much more. Lists that are not there are null in some manifests.
const list = <T extends z.ZodType>(item: T) =>
  z
    .array(item)
    .nullish()
    .transform((items) => items ?? []);
const text = z.string().nullish();
const containerSchema = z.object({
  name: z.string(),
  command: list(z.string()),
  args: list(z.string()),
  env: list(z.object({ name: z.string(), value: text, valueFrom: z.unknown().optional() })),
  volumeMounts: list(z.object({ name: z.string(), mountPath: z.string(), subPath: text, subPathExpr: text })),
});
const podSchema = z.object({
  apiVersion: z.literal('v1'),
  kind: z.literal('Pod'),
  metadata: z.object({
    name: z.string().min(1),
    uid: text,
    annotations: z.record(z.string(), z.string()).nullish(),
  }),
  spec: z.object({
    hostNetwork: z.boolean().nullish(),
    terminationGracePeriodSeconds: z.int().nullish(),
    containers: z.array(containerSchema).min(1),
    volumes: list(
      z.object({ name: z.string(), hostPath: z.object({ path: z.string(), type: text }).nullish() }),
    ),
  }),
});
type Container = z.output<typeof containerSchema>;
type Pod = z.output<typeof podSchema>;

/** What of a static pod's manifest matters here. */
export interface StaticPod {
  readonly name: string;
  /** Set where the manifest names it itself: then an edit makes no other pod of it. */
  readonly uid: string | undefined;
  readonly hostNetwork: boolean;
  /** Seconds that kubelet gives its containers to end. */
  readonly graceSeconds: number;
  /** When certroll last had it restarted, as the manifest says. */
  readonly restartedAt: string | undefined;
  /** The program's arguments, itself first; undefined where a shell makes them. */
  readonly words: readonly Expanded[] | undefined;
  /** Variables that the manifest takes from elsewhere. */
  readonly fromElsewhere: readonly string[];
  readonly mounts: readonly Mount[];
  /** All that kubelet reads of it, certroll's own note left out; for comparing. */
  readonly content: string;
}

export type ManifestRead =
  { readonly pod: StaticPod; readonly why?: undefined } | { readonly pod?: undefined; readonly why: string };

/**
 * The documents of a manifest. kubelet reads the first one and passes over the rest (sigs.k8s.io/yaml, which decodes one
 * document). `<<` is meant, as in the YAML 1.1 that it reads.
 */
export const parseManifest = (source: string): readonly Document.Parsed[] => {
  const documents = parseAllDocuments(source, { merge: true, prettyErrors: false, logLevel: 'silent' });
  return 'empty' in documents ? [] : documents;
};

/** The first document in plain data, or why it cannot be read. Nothing of the text itself is in the reason: it is somebody else's. */
export const plainManifest = (source: string): { readonly data: unknown } | { readonly why: string } => {
  const [first] = parseManifest(source);
  if (!first) return { why: 'it is empty' };
  const [problem] = [...first.errors, ...first.warnings];
  if (problem) {
    const line = source.slice(0, problem.pos[0]).split('\n').length;
    return { why: `line ${line}: ${problem.code.toLowerCase().replaceAll('_', ' ')}` };
  }
  try {
    return { data: first.toJS({ maxAliasCount: MOST_ALIASES }) as unknown };
  } catch (thrown) {
    return { why: messageOf(thrown) };
  }
};

/** Data with its keys in order, certroll's own note left out. */
const canonical = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, canonical(each)]));
};
const withoutNote = (data: unknown): string => {
  const { metadata, ...rest } = data as { metadata: { annotations?: Record<string, string> | null } };
  const { annotations, ...others } = metadata;
  const kept = Object.entries(annotations ?? {}).filter(([key]) => key !== RESTARTED_AT);
  return JSON.stringify(
    canonical({ ...rest, metadata: { ...others, annotations: Object.fromEntries(kept) } }),
  );
};

/** Where the program stands among a container's words: behind a wrapper such as go-runner, or first; -1 when it does not. */
const programAt = ({ command, args }: Container, program: string): number =>
  [...command, ...args].findIndex((word) => posix.basename(word) === program);

/** The container that runs the program: the one whose words name it, else the one that is called so. */
const containerOf = (pod: Pod, program: string): Container | string => {
  const { containers } = pod.spec;
  const naming = containers.filter((container) => programAt(container, program) >= 0);
  const found = naming.length > 0 ? naming : containers.filter(({ name }) => name === program);
  const [container, second] = found;
  if (!container) return `no container of it runs ${program}`;
  return second ? `several containers of it run ${program}` : container;
};

/** The variables of a container, each of which may name those before it. */
const environmentOf = ({ env }: Container): ReadonlyMap<string, string> => {
  const known = new Map<string, string>();
  for (const { name, value, valueFrom } of env) {
    const expanded = expand(value ?? '', known);
    const isKnown = (valueFrom ?? null) === null && expanded.every((part) => typeof part === 'string');
    if (isKnown) known.set(name, asWritten(expanded));
    else known.delete(name);
  }
  return known;
};

const wordsOf = (container: Container, program: string): StaticPod['words'] => {
  const at = programAt(container, program);
  const words = [...container.command, ...container.args];
  const environment = environmentOf(container);
  const from = (parts: readonly string[]): readonly Expanded[] =>
    parts.map((word) => expand(word, environment));
  if (at >= 0) return from(words.slice(at));
  // The program itself is the image's: then all words are its flags.
  const isFlagsOnly = container.command.length === 0 && words[0]?.startsWith('-') === true;
  return isFlagsOnly ? [[program], ...from(words)] : undefined;
};

const trimmed = (path: string): string => posix.normalize(path).replace(/(.)\/+$/, '$1');

const mountsOf = (container: Container, pod: Pod): readonly Mount[] => {
  const volumes = new Map(pod.spec.volumes.map((volume) => [volume.name, volume.hostPath]));
  const environment = environmentOf(container);
  return container.volumeMounts.map(({ name, mountPath, subPath, subPathExpr }) => {
    const inside = trimmed(mountPath);
    const host = volumes.get(name);
    const isFile = host?.type === 'File' || host?.type === 'FileOrCreate';
    const expanded = expand(subPathExpr ?? '', environment);
    if (!host || expanded.some((part) => typeof part !== 'string'))
      return { inside, outside: undefined, isFile };
    return {
      inside,
      outside: trimmed(posix.join(host.path, subPath ?? asWritten(expanded))),
      isFile,
    };
  });
};

const whereOf = (path: readonly PropertyKey[]): string => path.map(String).join('.') || 'it';

/** Reads a manifest for the program that it runs. Pure. */
export const readManifest = (source: string, program: string): ManifestRead => {
  const plain = plainManifest(source);
  if ('why' in plain) return plain;
  const parsed = podSchema.safeParse(plain.data);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { why: `${whereOf(issue?.path ?? [])}: ${issue?.message ?? 'not as a pod has it'}` };
  }
  const { metadata, spec } = parsed.data;
  const container = containerOf(parsed.data, program);
  if (typeof container === 'string') return { why: container };
  return {
    pod: {
      name: metadata.name,
      uid: metadata.uid ?? undefined,
      hostNetwork: spec.hostNetwork === true,
      graceSeconds: spec.terminationGracePeriodSeconds ?? GRACE_SECONDS,
      restartedAt: metadata.annotations?.[RESTARTED_AT],
      words: wordsOf(container, program),
      fromElsewhere: container.env.flatMap(({ name, valueFrom }) =>
        (valueFrom ?? null) === null ? [] : [name],
      ),
      mounts: mountsOf(container, parsed.data),
      content: withoutNote(plain.data),
    },
  };
};

export type NextArguments =
  | { readonly argv: readonly string[] | undefined; readonly why?: undefined }
  | { readonly argv?: undefined; readonly why: string };

/**
 * The arguments that the pod would be started with now. What a word takes from a variable that is not in the manifest (the
 * address of the host, say) is taken from the running process, where exactly one of its words can be that word. Pure.
 */
export const nextArguments = (pod: StaticPod, running: readonly string[]): NextArguments => {
  if (!pod.words) return { argv: undefined };
  const argv: string[] = [];
  for (const word of pod.words) {
    const unknown = word.flatMap((part) => (typeof part === 'string' ? [] : [part.unknown]));
    const [match, second] =
      unknown.length === 0 ? [] : [...new Set(running)].filter((each) => couldBe(word, each));
    if (match !== undefined && second === undefined) argv.push(match);
    else {
      const name = unknown.find((each) => pod.fromElsewhere.includes(each));
      if (name !== undefined)
        return {
          why: `it takes $(${name}) from elsewhere, and what that is cannot be told from the running process`,
        };
      argv.push(asWritten(word));
    }
  }
  return { argv };
};
