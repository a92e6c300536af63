import { expect, it } from 'vitest';
import { renderAuditHtml } from '../../../src/report/audit-html.js';
import { useBrowser } from './browser.js';
import { fit, shown } from './probes.js';
import { AT, sampleCluster } from './sample.js';

const open = useBrowser();

it('an audit of 500 hosts and 10,000 files is one page that opens, with a row for each file', async () => {
  const cluster = sampleCluster('large', { controlPlanes: 3, nodes: 497, extra: 16 });
  expect(cluster.hosts).toHaveLength(500);
  expect(cluster.items.length).toBeGreaterThan(9_900);
  const html = renderAuditHtml({ version: 1, at: AT, clusters: [cluster] });
  console.log(`page of ${cluster.items.length} files: ${(html.length / 2 ** 20).toFixed(1)} MiB`);
  const { page, complaints } = await open(html);
  expect((await page.evaluate(shown, '.inventory tbody tr')).all).toBe(cluster.items.length);
  await page.locator('.inventory > summary').click();
  await page.locator('.inventory > details > summary').last().click();
  const last = cluster.items.filter(({ host }) => host === cluster.hosts.at(-1)!.name);
  expect((await page.evaluate(shown, '.inventory tbody tr')).visible).toBe(last.length);
  // Five hundred kubelets that say the same of an authority are a row, not five hundred.
  const authorities = 'figure:has(#c0-trust-authorities) tbody tr';
  expect(await page.evaluate(shown, authorities)).toEqual({ visible: 3, all: 3 });
  // Nor may what is said of eighty hosts hide what is said of the next.
  expect(await page.locator('.findings > .critical > details[open]').count()).toBe(0);
  expect((await page.evaluate(fit, false)).sideways).toBe(0);
  expect(complaints).toEqual([]);
});
