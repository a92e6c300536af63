import { z } from 'zod';
import { formatDuration, formatLeft } from '../../core/duration.js';
import { brokenCredentials } from '../../trust/edges.js';
import { hostOf, type World } from '../../trust/world.js';
import type { Site, Step } from '../step.js';
import { apiserverOf, layoutOf } from './layout.js';
import { nextKeys } from './next-key.js';

const withSchema = z.strictObject({
  force: z.boolean().default(false).describe('Rotate whether it is due or not'),
});

/** Every certificate of a signing key with the time it has left, in milliseconds. */
const certificates = (world: World, site: Site) =>
  site.hosts.flatMap((name) => {
    const host = hostOf(world, name);
    const { certificateFile } = layoutOf(host, site);
    const notAfter =
      certificateFile === undefined ? undefined : host.files.get(certificateFile)?.certificate?.notAfter;
    return notAfter ? [{ host: name, notAfter, left: notAfter.getTime() - world.now.getTime() }] : [];
  });

/** Why a rotation is due; empty when it is not. */
const reasons = (world: World, site: Site, force: boolean): readonly string[] => {
  const due: string[] = [];
  if (world.rotation?.state === 'open') due.push(`rotation ${world.rotation.id} is not finished`);
  const expiring = certificates(world, site).filter(({ left }) => left < site.renewBeforeMs);
  for (const { host, left } of expiring) {
    due.push(
      `the certificate of ${host}'s signing key ${left < 0 ? formatLeft(left) : `has ${formatLeft(left)}`}`,
    );
  }
  const refused = brokenCredentials(world).filter(({ credential }) => credential.kind === 'token-key').length;
  if (refused > 0)
    due.push(`tokens of ${refused} ${refused === 1 ? 'key' : 'keys'} are refused by some apiservers`);
  const keys = new Set(
    site.hosts.map(
      (name) => hostOf(world, name).files.get(apiserverOf(hostOf(world, name)).signingFile ?? '')?.signingKey,
    ),
  );
  if (site.mode === 'shared' && keys.size > 1)
    due.push('mode is shared and the control planes sign with different keys');
  if (force) due.push('forced');
  return due;
};

/** Whether the signing keys are due: an expiring certificate, refused tokens, an unfinished rotation, or force. */
export const checkExpiry: Step<z.output<typeof withSchema>> = {
  summary:
    'See whether the signing keys are due: certificates about to expire, tokens refused, a rotation not finished',
  withSchema,
  reportsOnly: true,
  outputs: ['due', 'reasons'],

  plan(draft, given, site) {
    // Fails early, with the reason, when the flags leave no way to rotate.
    nextKeys(draft.world, site);
    const due = reasons(draft.world, site, given.force);
    for (const text of due)
      draft.finding({ severity: 'info', host: undefined, text: `rotation is due: ${text}` });
    for (const { host, left } of certificates(draft.world, site)) {
      if (left >= site.renewBeforeMs)
        draft.finding({
          severity: 'info',
          host,
          text: `signing key certified for another ${formatDuration(left)}`,
        });
    }
    return { due: due.length > 0, reasons: due };
  },
};
