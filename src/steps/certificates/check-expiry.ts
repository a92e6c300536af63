import { z } from 'zod';
import { hostOf } from '../../trust/world.js';
import type { Step } from '../step.js';

const withSchema = z.strictObject({});

/** Every certificate that the running processes' own flags name, soonest to expire first. */
export const checkExpiry: Step<z.output<typeof withSchema>> = {
  summary: "Report when the certificates expire that the running processes' own flags name",
  withSchema,
  reportsOnly: true,
  outputs: ['expiring', 'expired'],

  plan(draft, _given, site) {
    const now = draft.world.now.getTime();
    const found = site.hosts.flatMap((name) =>
      [...hostOf(draft.world, name).files].flatMap(([path, file]) => {
        const notAfter = file.certificate?.notAfter;
        return notAfter ? [{ host: name, path, left: notAfter.getTime() - now, notAfter }] : [];
      }),
    );
    found.sort((a, b) => a.left - b.left);
    const expired = found.filter(({ left }) => left < 0).length;
    const expiring = found.filter(({ left }) => left >= 0 && left < site.renewBeforeMs).length;
    for (const { host, path, left, notAfter } of found) {
      draft.finding({
        severity: left < 0 ? 'critical' : left < site.renewBeforeMs ? 'warning' : 'info',
        host,
        text: path,
        expires: { notAfter, leftMs: left },
      });
    }
    return { expiring, expired };
  },
};
