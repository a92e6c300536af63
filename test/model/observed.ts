import type { KeyRef, World } from '../../src/trust/world.js';

/** Replaces every symbol by a kid, as observing a world after a stopped run would show it. */
export const observed = (world: World, names: Map<KeyRef, string>): World => {
  const kid = (ref: KeyRef): string => {
    if (!ref.startsWith('next ')) return ref;
    const known = names.get(ref) ?? `kid-${names.size}-${ref.replaceAll(' ', '-')}`;
    names.set(ref, known);
    return known;
  };
  const hosts = [...world.hosts].map(([name, host]) => {
    const files = [...host.files].map(([path, state]) => {
      const renamed = {
        ...state,
        verificationKeys: state.verificationKeys.map(kid),
        ...(state.signingKey !== undefined && { signingKey: kid(state.signingKey) }),
        ...(state.certificate && { certificate: { ...state.certificate, key: kid(state.certificate.key) } }),
      };
      return [path, renamed] as const;
    });
    const services = [...host.services].map(([service, state]) => {
      const { loaded } = state;
      return [
        service,
        {
          ...state,
          loaded: {
            ...loaded,
            signs: loaded.signs === undefined ? undefined : kid(loaded.signs),
            verifies: loaded.verifies.map(kid),
          },
        },
      ] as const;
    });
    return [name, { ...host, files: new Map(files), services: new Map(services) }] as const;
  });
  const keys = [...world.keys.values()].map(
    (record) => [kid(record.key), { ...record, key: kid(record.key) }] as const,
  );
  return { ...world, hosts: new Map(hosts), keys: new Map(keys) };
};
