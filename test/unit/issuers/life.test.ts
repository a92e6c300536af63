import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CertrollError } from '../../../src/core/errors.js';
import { BACKDATE_MS, CA_MARGIN_MS, planLeafLife } from '../../../src/issuers/life.js';

const DAY = 86_400_000;
const NOW = new Date('2026-03-01T12:00:00.500Z');
const at = (ms: number): Date => new Date(NOW.getTime() + ms);

const codeOf = (action: () => unknown): string => {
  try {
    action();
    return 'none';
  } catch (thrown) {
    return thrown instanceof CertrollError ? `${thrown.code} ${thrown.exit}` : String(thrown);
  }
};

const plan = (caFrom: number, caTo: number, ttlMs: number, renewWindowMs = 30 * DAY) =>
  planLeafLife(
    { ca: { notBefore: at(caFrom), notAfter: at(caTo) }, now: NOW, ttlMs, renewWindowMs },
    'test CA',
  );

describe('the life of a new certificate', () => {
  const span = fc.integer({ min: -400, max: 4000 }).map((days) => days * DAY);

  it('lies within that of its CA and outlives the renew window, or there is none', () => {
    fc.assert(
      fc.property(span, span, fc.nat(4000 * DAY), fc.nat(100 * DAY), (from, to, ttlMs, renewWindowMs) => {
        let life;
        try {
          life = plan(from, to, ttlMs, renewWindowMs);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(CertrollError);
          return;
        }
        expect(life.notBefore.getTime()).toBeGreaterThanOrEqual(Math.floor(at(from).getTime() / 1000) * 1000);
        expect(life.notBefore.getTime()).toBeLessThanOrEqual(NOW.getTime());
        expect(life.notAfter.getTime()).toBeLessThanOrEqual(at(to).getTime() - CA_MARGIN_MS);
        expect(life.notAfter.getTime()).toBeLessThanOrEqual(at(ttlMs).getTime());
        // By whole seconds, the window may be missed by less than one.
        expect(life.notAfter.getTime() - NOW.getTime()).toBeGreaterThan(renewWindowMs - 1000);
        expect(life.capped).toBe(at(ttlMs).getTime() > at(to).getTime() - CA_MARGIN_MS);
        for (const date of [life.notBefore, life.notAfter]) expect(date.getMilliseconds()).toBe(0);
      }),
    );
  });

  it('is the wished-for one where the CA lives long enough, from a little before now', () => {
    const life = plan(-365 * DAY, 3650 * DAY, 365 * DAY);
    expect(life).toEqual({
      notBefore: new Date('2026-03-01T11:55:00Z'),
      notAfter: new Date('2027-03-01T12:00:00Z'),
      capped: false,
    });
    expect(NOW.getTime() - life.notBefore.getTime()).toBeGreaterThanOrEqual(BACKDATE_MS);
  });

  it('does not begin before its CA', () => {
    expect(plan(-60_000, 3650 * DAY, 365 * DAY).notBefore).toEqual(new Date('2026-03-01T11:59:00Z'));
  });

  it.each([
    ['an expired CA', () => plan(-2 * DAY, 0, 365 * DAY), 'issuer.ca-expired 4'],
    ['a CA of the future', () => plan(1000, 3650 * DAY, 365 * DAY), 'issuer.ca-not-yet-valid 4'],
    [
      'a CA that ends within the renew window',
      () => plan(-DAY, 30 * DAY, 365 * DAY),
      'issuer.ca-too-short 4',
    ],
    [
      'a wish that is within the renew window',
      () => plan(-DAY, 365 * DAY, 30 * DAY),
      'issuer.ttl-too-short 2',
    ],
  ])('is refused for %s', (_what, action, code) => {
    expect(codeOf(action)).toBe(code);
  });
});
