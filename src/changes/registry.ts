import { z } from 'zod';
import { CertrollError } from '../core/errors.js';
import type { Store } from '../etcd/store.js';
import { kidOf } from '../pem/keys.js';
import { KEY_STATES, type KeyRecord, type Rotation } from '../trust/world.js';

/**
 * The key registry in etcd. One entry per kid, never per host: a host that was reimaged writes a new entry and erases
 * none. Layout: PREFIX/CLUSTER/sa-keys/KID and PREFIX/CLUSTER/rotation, both JSON.
 */
const recordSchema = z.object({
  kid: z.string(),
  state: z.enum(KEY_STATES),
  publicKey: z.string(),
  signers: z.array(z.string()).readonly(),
  rotation: z.string().optional(),
  since: z.iso.datetime(),
  lastSigned: z.iso.datetime().optional(),
  lifeMs: z.number().nonnegative().optional(),
});

const rotationSchema = z.object({
  id: z.string(),
  state: z.enum(['open', 'done']),
  startedAt: z.iso.datetime(),
});

export interface Registry {
  readonly records: readonly (KeyRecord & { readonly publicKeyPem: string })[];
  readonly rotation: Rotation | undefined;
}

const keysUnder = (prefix: string, cluster: string): string => `${prefix}/${cluster}/sa-keys/`;
export const rotationKey = (prefix: string, cluster: string): string => `${prefix}/${cluster}/rotation`;
export const recordKey = (prefix: string, cluster: string, kid: string): string =>
  `${keysUnder(prefix, cluster)}${kid}`;

const parse = <T>(schema: z.ZodType<T>, key: string, text: string): T => {
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new CertrollError(`the registry entry ${key} in etcd is not one that certroll wrote`, {
      code: 'registry.unreadable',
      hint: `Look at it with 'etcdctl get ${key}'; restore or delete it, then run again.`,
      cause,
    });
  }
};

/** Reads the whole registry of a cluster. Throws `registry.unreadable`, `etcd.*`. */
export const readRegistry = async (store: Store, prefix: string, cluster: string): Promise<Registry> => {
  const stored = await store.list(`${prefix}/${cluster}/`);
  const records: (KeyRecord & { publicKeyPem: string })[] = [];
  let rotation: Rotation | undefined;
  for (const [key, { value }] of stored) {
    if (key.startsWith(keysUnder(prefix, cluster))) {
      const found = parse(recordSchema, key, value);
      if (kidOf(found.publicKey) !== found.kid) {
        throw new CertrollError(`the registry entry ${key} in etcd holds another key than its name says`, {
          code: 'registry.unreadable',
        });
      }
      records.push({
        key: found.kid,
        state: found.state,
        publicKeyPem: found.publicKey,
        signers: found.signers,
        rotation: found.rotation,
        since: new Date(found.since),
        ...(found.lastSigned !== undefined && { lastSigned: new Date(found.lastSigned) }),
        ...(found.lifeMs !== undefined && { lifeMs: found.lifeMs }),
      });
    } else if (key === rotationKey(prefix, cluster)) {
      const found = parse(rotationSchema, key, value);
      rotation = { ...found, startedAt: new Date(found.startedAt) };
    }
  }
  return { records, rotation };
};

export const encodeRecord = (record: KeyRecord, kid: string, publicKey: string): string =>
  JSON.stringify({
    kid,
    state: record.state,
    publicKey,
    signers: record.signers,
    ...(record.rotation === undefined ? {} : { rotation: record.rotation }),
    since: record.since.toISOString(),
    ...(record.lastSigned && { lastSigned: record.lastSigned.toISOString() }),
    ...(record.lifeMs !== undefined && { lifeMs: record.lifeMs }),
  } satisfies z.input<typeof recordSchema>);

export const encodeRotation = (rotation: Rotation): string =>
  JSON.stringify({ ...rotation, startedAt: rotation.startedAt.toISOString() } satisfies z.input<
    typeof rotationSchema
  >);
