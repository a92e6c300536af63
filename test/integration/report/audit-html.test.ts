import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { renderAuditHtml } from '../../../src/report/audit-html.js';
import { useBrowser } from './browser.js';
import { bars, contrasts, fit, focused, openAll, shown, stops } from './probes.js';
import { AT, sampleReport } from './sample.js';

const open = useBrowser();
const report = sampleReport();
const html = renderAuditHtml(report);

const SCHEMES = ['light', 'dark'] as const;
/** WCAG 2.2, level AA, for text of any size. */
const CONTRAST = 4.5;

/** What axe finds, by rule and element; it comes with the tests, nothing is loaded for it. */
const violations = async (page: Page): Promise<readonly string[]> => {
  await page.evaluate(axe.source);
  const found = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
  return found.violations.flatMap(({ id, nodes }) => nodes.map((each) => `${id}: ${each.html}`));
};

describe.each(SCHEMES)('the page of an audit, %s', (colorScheme) => {
  it('loads nothing but itself, complains of nothing, and passes every rule of axe, closed and open', async () => {
    const { page, complaints, requests, url } = await open(html, { colorScheme });
    expect(requests).toEqual([url]);
    expect(complaints).toEqual([]);
    expect(await violations(page)).toEqual([]);
    await page.evaluate(openAll);
    expect(await violations(page)).toEqual([]);
    // axe looks at each of some thousand elements many times over.
  }, 240_000);

  it('has text that can be read against what is behind it', async () => {
    const { page } = await open(html, { colorScheme });
    await page.evaluate(openAll);
    const read = await page.evaluate(contrasts);
    expect(read.length).toBeGreaterThan(5);
    expect(read.filter(({ ratio }) => ratio < CONTRAST)).toEqual([]);
    // The scheme that was asked for, not the other one twice.
    const isDark = Number(read[0]!.background.split(',')[0]) < 128;
    expect(isDark).toBe(colorScheme === 'dark');
  });
});

describe('the keyboard', () => {
  it('reaches each link, finding and region once, in order, with an outline that shows where it is', async () => {
    const { page } = await open(html);
    const expected = await page.evaluate(stops);
    expect(expected[0]).toMatch(/^A\.skip/);
    const seen = [];
    for (const _stop of expected) {
      await page.keyboard.press('Tab');
      seen.push(await page.evaluate(focused));
    }
    expect(seen.map(({ at }) => at)).toEqual(expected.map((_stop, at) => at));
    expect(seen.filter(({ outline, isOnScreen }) => outline < 2 || !isOnScreen)).toEqual([]);
  });

  it('skips from the first link to the findings', async () => {
    const { page } = await open(html);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(
      await page
        .locator('main .findings summary')
        .first()
        .evaluate((each) => each === document.activeElement),
    ).toBe(true);
  });

  it('opens and closes a finding', async () => {
    const { page } = await open(html);
    const closed = page.locator('.findings details:not([open])').first();
    const action = page.locator('.findings .warning dd').nth(1);
    expect(await action.isVisible()).toBe(false);
    await closed.locator('summary').focus();
    await page.keyboard.press('Enter');
    expect(await action.isVisible()).toBe(true);
    await page.keyboard.press('Enter');
    expect(await action.isVisible()).toBe(false);
  });

  it('scrolls a table that is wider than the screen', async () => {
    const { page } = await open(html, { viewport: { width: 360, height: 700 } });
    const region = page.locator('section .wide').first();
    await region.focus();
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => region.evaluate((each) => each.scrollLeft)).toBeGreaterThan(0);
  });
});

describe.each([360, 768, 1600])('on a screen of %i pixels', (width) => {
  it('only tables scroll sideways, closed or open, and no text is cut', async () => {
    const { page } = await open(html, { viewport: { width, height: 900 } });
    for (const step of ['closed', 'open']) {
      if (step === 'open') await page.evaluate(openAll);
      const { regions, ...rest } = await page.evaluate(fit, false);
      expect(rest, step).toEqual({ sideways: 0, clipped: [] });
      expect(regions.filter((each) => each !== 'wide')).toEqual([]);
    }
  });

  it('the lines of a timeline are as long as the time that is left, the shortest first', async () => {
    const { page } = await open(html, { viewport: { width, height: 900 } });
    await page.evaluate(openAll);
    const timelines = await page.evaluate(bars);
    expect(timelines.map(({ length }) => length)).toEqual(
      report.clusters.map(({ items }) => {
        const seen = items.flatMap(({ onDisk, served }) => [
          ...onDisk.certificates,
          ...(served?.certificates ?? []),
        ]);
        return new Set(seen.map(({ sha256 }) => sha256)).size;
      }),
    );
    for (const timeline of timelines) {
      expect(timeline.map(({ until }) => until)).toEqual(timeline.map(({ until }) => until).sort());
      for (const { share, until } of timeline) {
        const years = (Date.parse(until) - Date.parse(AT)) / (365 * 86_400_000);
        expect(share).toBeCloseTo(Math.min(1, Math.max(0, years / 2)), 2);
      }
    }
  });
});

it('tells the most urgent first, and shows what is critical without a click', async () => {
  const { page } = await open(html);
  const order = await page.locator('section').first().locator('.findings .chip').allInnerTexts();
  expect(order).toEqual(['critical', 'warning', 'warning', 'warning', 'info']);
  const { visible, all } = await page.evaluate(shown, '.findings > .critical dd');
  expect(all).toBeGreaterThan(0);
  expect(visible).toBe(all);
});
