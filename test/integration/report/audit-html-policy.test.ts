import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renderAuditHtml } from '../../../src/report/audit-html.js';
import { useBrowser } from './browser.js';
import { RAN, sampleReport } from './sample.js';

/** Stands for whoever wants to hear from the page; it counts what reaches it. */
const asked: string[] = [];
let server: Server;
let origin: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  origin = typeof address === 'object' && address ? `http://127.0.0.1:${address.port}` : '';
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const open = useBrowser();
const html = renderAuditHtml(sampleReport());

/** As if the page had not escaped something: script, handler, picture, style, form. */
const injected = (page: string): string =>
  page.replace(
    '<main',
    `<script>${RAN}</script><img src="${origin}/img" onerror="${RAN}"><script src="${origin}/js"></script>
<link rel="stylesheet" href="${origin}/css"><style>h1{display:none}</style><p id="hidden" style="display:none">x</p>
<iframe src="${origin}/frame"></iframe><a id="bad" href="javascript:${RAN}">x</a><svg onload="${RAN}"></svg><main`,
  );

const withoutPolicy = (page: string): string => page.replace(/<meta http-equiv[^>]*>\n/, '');

describe('what hosts say', () => {
  it('is text of the page, whatever it is', async () => {
    const { page, complaints, requests, url } = await open(html);
    expect(await page.locator('html').getAttribute('data-ran')).toBeNull();
    expect(
      await page.locator('script, img, iframe, style:not(head style), [onclick], [onerror]').count(),
    ).toBe(0);
    expect(await page.locator('h2').allInnerTexts()).toContain(sampleReport().clusters[2]!.name);
    expect([complaints, requests]).toEqual([[], [url]]);
  });

  it('could run and load nothing, and change no style, even if it were not escaped', async () => {
    const { page } = await open(injected(html));
    await page.locator('#bad').click();
    expect(await page.locator('html').getAttribute('data-ran')).toBeNull();
    expect(await page.locator('h1').isVisible()).toBe(true);
    expect(await page.locator('#hidden').isVisible()).toBe(true);
    expect(asked).toEqual([]);
  });

  it('would run and load without the policy, so that the test before says something', async () => {
    const { page } = await open(withoutPolicy(injected(html)));
    expect(await page.locator('html').getAttribute('data-ran')).toBe('1');
    expect(await page.locator('h1').isVisible()).toBe(false);
    expect([...asked].sort()).toEqual(['/css', '/frame', '/img', '/js']);
  });
});
