import type { ClusterFile } from '../cluster/schema.js';
import { parseDuration } from '../core/duration.js';
import type { Issuer, IssuerOptions } from './issuer.js';

/** Opens the PKI that the cluster file names; undefined when it names none. Reads and connects when it is first used. */
export const openIssuer = async (
  settings: ClusterFile['issuer'],
  baseDir: string,
  { renewWindowMs = parseDuration('30d'), timeoutMs = 30_000 }: IssuerOptions = {},
): Promise<Issuer | undefined> => {
  switch (settings.type) {
    case 'none':
      return undefined;
    case 'local-ca': {
      const { LocalCa } = await import('./local-ca.js');
      return new LocalCa(settings, { baseDir, renewWindowMs });
    }
    case 'cfssl': {
      const { Cfssl } = await import('./cfssl.js');
      return new Cfssl(settings, { baseDir, renewWindowMs, timeoutMs });
    }
  }
};
