import { CertrollError } from '../core/errors.js';
import type { KeyRecord, Rotation, World } from '../trust/world.js';
import type { ApplyContext, ChangeKind, PutRecords } from './change.js';
import { describeKeys } from './describe-keys.js';
import { encodeRecord, encodeRotation, readRegistry, recordKey, rotationKey } from './registry.js';

const rotationAfter = (change: PutRecords, before: Rotation | undefined, now: Date): Rotation | undefined =>
  change.rotation && {
    ...change.rotation,
    startedAt: before?.id === change.rotation.id ? before.startedAt : now,
  };

const recordsOf = (change: PutRecords, now: Date): readonly KeyRecord[] =>
  change.records.map(({ lastSigned, ...record }) => {
    const last = lastSigned ?? (record.state === 'soaking' ? now : undefined);
    return { ...record, rotation: record.rotation, since: now, ...(last && { lastSigned: last }) };
  });

const withRecords = (world: World, records: readonly KeyRecord[]): World => {
  const keys = new Map(world.keys);
  for (const record of records) keys.set(record.key, record);
  return { ...world, keys };
};

const readBack = async (context: ApplyContext) =>
  readRegistry(context.doors.store, context.settings.registryPrefix, context.cluster);

export const putRecords: ChangeKind<PutRecords> = {
  describe(change) {
    const states = [...new Set(change.records.map((record) => record.state))];
    const parts = states.map((state) => {
      const keys = change.records.filter((record) => record.state === state).map((record) => record.key);
      return `${describeKeys(keys)} as ${state}`;
    });
    if (change.rotation) parts.push(`rotation ${change.rotation.id} as ${change.rotation.state}`);
    return `record in etcd: ${parts.join('; ')}`;
  },

  model(change, world): World {
    const after = withRecords(world, recordsOf(change, world.now));
    return { ...after, rotation: rotationAfter(change, world.rotation, world.now) ?? world.rotation };
  },

  partial: (change, world) =>
    recordsOf(change, world.now).map((_record, at, records) => withRecords(world, records.slice(0, at + 1))),

  async apply(change, context) {
    const { store } = context.doors;
    const prefix = context.settings.registryPrefix;
    for (const record of recordsOf(change, context.now())) {
      const { kid, publicKeyPem } = context.keys.resolve(record.key);
      await store.put(recordKey(prefix, context.cluster, kid), encodeRecord(record, kid, publicKeyPem));
    }
    if (!change.rotation) return;
    const before = await readBack(context);
    const rotation = rotationAfter(change, before.rotation, context.now());
    if (rotation) await store.put(rotationKey(prefix, context.cluster), encodeRotation(rotation));
  },

  async verify(change, context) {
    const registry = await readBack(context);
    const states = new Map(registry.records.map((record) => [record.key, record.state]));
    const wrong = change.records.find(
      (record) => states.get(context.keys.resolve(record.key).kid) !== record.state,
    );
    const rotation = change.rotation;
    if (
      !wrong &&
      (!rotation || (registry.rotation?.id === rotation.id && registry.rotation.state === rotation.state))
    )
      return;
    throw new CertrollError('the registry in etcd does not hold what was just written to it', {
      code: 'verify.registry',
      hint: 'Another run on this cluster is the likely cause; see certroll lock show.',
    });
  },
};
