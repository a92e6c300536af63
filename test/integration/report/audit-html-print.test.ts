import { execa } from 'execa';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderAuditHtml } from '../../../src/report/audit-html.js';
import { tempFolder } from '../../support/temp.js';
import { useBrowser } from './browser.js';
import { contrasts, fit, shown } from './probes.js';
import { sampleReport } from './sample.js';

const open = useBrowser();
const folder = tempFolder();
const report = sampleReport();
const html = renderAuditHtml(report);

/** What a sheet of A4 leaves between the margins of the page, in pixels. */
const SHEET = { width: Math.floor(((210 - 2 * 12) / 25.4) * 96), height: 1000 };

/** Lines break where they fit, so blanks say nothing. */
const dense = (text: string): string => text.replaceAll(/\s/g, '');

describe('the page of an audit on paper', () => {
  it('shows what is closed on the screen, and all of it lies on the sheet', async () => {
    const { page } = await open(html, { viewport: SHEET });
    const onScreen = await page.evaluate(shown, 'dd, tbody tr');
    expect(onScreen.visible).toBeLessThan(onScreen.all);
    await page.emulateMedia({ media: 'print' });
    const onPaper = await page.evaluate(shown, 'dd, tbody tr, li');
    expect(onPaper.visible).toBe(onPaper.all);
    expect(await page.evaluate(fit, true)).toEqual({ sideways: 0, regions: [], clipped: [] });
  });

  it('is dark on light, also for who reads on a dark screen', async () => {
    const { page } = await open(html, { viewport: SHEET, colorScheme: 'dark' });
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    const read = await page.evaluate(contrasts);
    expect(read.filter(({ ratio, background }) => ratio < 4.5 || background !== '255,255,255,1')).toEqual([]);
  });

  it('is a PDF with every finding, its reason and remedy, and every file of the inventory', async () => {
    const { page } = await open(html);
    const pdf = join(folder.path, 'audit.pdf');
    await page.pdf({ path: pdf, format: 'A4', preferCSSPageSize: true });
    const { stdout } = await execa('pdftotext', ['-raw', pdf, '-']);
    const text = dense(stdout);
    for (const { findings, items } of report.clusters.filter(({ name }) => !name.startsWith('<'))) {
      for (const { text: said, why, action } of findings)
        for (const part of [said, why, action]) expect(text).toContain(dense(part));
      for (const { host, path, onDisk } of items)
        for (const part of [host, path, ...onDisk.certificates.map(({ serial }) => serial)])
          expect(text).toContain(dense(part));
    }
  });
});
