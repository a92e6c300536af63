import { CertrollError } from '../core/errors.js';
import { brokenEdges, describeCredential } from '../trust/edges.js';
import { onDisk, processId, type Loaded, type World } from '../trust/world.js';
import type { RunBindings } from './bindings.js';

const missing = (expected: readonly string[], found: readonly string[]): readonly string[] => {
  const have = new Set(found);
  return expected.filter((key) => !have.has(key));
};

const compare = (process: string, where: string, expected: Loaded, found: Loaded): readonly string[] => {
  // Nothing was known of it and nothing was done to it: so nothing was predicted.
  if (where === 'in memory' && expected.how === 'unknown') return [];
  const differences: string[] = [];
  if (expected.signs !== found.signs) {
    differences.push(
      `${process} ${where} signs with ${found.signs ?? 'an unknown key'}, not ${expected.signs ?? 'none'}`,
    );
  }
  for (const key of missing(expected.verifies, found.verifies))
    differences.push(`${process} ${where} does not verify with ${key}`);
  for (const key of missing(found.verifies, expected.verifies))
    differences.push(`${process} ${where} verifies with ${key}, which was not planned`);
  return differences;
};

/** Where the observed world is not the predicted one. Empty when the run did what it planned. */
export const differences = (predicted: World, observed: World, bindings: RunBindings): readonly string[] =>
  [...predicted.hosts.values()].flatMap((host) =>
    [...host.services.values()].flatMap((service) => {
      const id = processId(service.service, host.name);
      const seenHost = observed.hosts.get(host.name);
      const seen = seenHost?.services.get(service.service);
      if (!seenHost || !seen) return [`${id} was not seen running`];
      const disk = (state: Pick<Loaded, 'signs' | 'verifies'>): Loaded => ({ ...state, how: 'unknown' });
      return [
        ...compare(id, 'in memory', bindings.resolveLoaded(service.loaded), seen.loaded),
        ...compare(
          id,
          'on disk',
          bindings.resolveLoaded(disk(onDisk(host, service))),
          disk(onDisk(seenHost, seen)),
        ),
      ];
    }),
  );

/** Throws `verify.world` unless the observed world is the predicted one and every edge of it holds. */
export const verifyWorld = (predicted: World, observed: World, bindings: RunBindings): void => {
  const found = differences(predicted, observed, bindings);
  const broken = brokenEdges(observed)
    .filter(({ isDormant }) => isDormant !== true)
    .map(
      ({ credential, presenter, verifier }) =>
        `${describeCredential(credential)}, presented by ${presenter}, is refused by ${verifier}`,
    );
  if (found.length + broken.length === 0) return;
  throw new CertrollError(
    `all changes were made, and the cluster is not as predicted: ${[...broken, ...found].join('; ')}`,
    {
      code: 'verify.world',
      hint: 'Something else changed it meanwhile (puppet, confd, another operator). Look at certroll status, then run again.',
    },
  );
};
