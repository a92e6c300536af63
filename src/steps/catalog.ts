import { restart } from './apiserver/restart.js';
import { checkExpiry as checkCertificates } from './certificates/check-expiry.js';
import { accepted } from './sa-keys/accepted.js';
import { checkExpiry as checkSigningKeys } from './sa-keys/check-expiry.js';
import { issue } from './sa-keys/issue.js';
import { promote } from './sa-keys/promote.js';
import { publish } from './sa-keys/publish.js';
import { retire } from './sa-keys/retire.js';
import { purgeTokenSecrets } from './sa-keys/purge-token-secrets.js';
import { soak } from './sa-keys/soak.js';
import type { Step } from './step.js';

/** Every step that a cookbook may use, by the name it uses it with. */
export const stepCatalog: ReadonlyMap<string, Step> = new Map<string, Step>([
  ['sa-keys/check-expiry', checkSigningKeys],
  ['sa-keys/issue', issue],
  ['sa-keys/publish', publish],
  ['sa-keys/accepted', accepted],
  ['sa-keys/promote', promote],
  ['sa-keys/soak', soak],
  ['sa-keys/purge-token-secrets', purgeTokenSecrets],
  ['sa-keys/retire', retire],
  ['apiserver/restart', restart],
  ['certificates/check-expiry', checkCertificates],
]);
