import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { tempFolder } from '../../support/temp.js';

/** Debian's; `CHROMIUM` names another, where apt has none. */
const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

export interface Opened {
  readonly page: Page;
  /** What the page wrote to the console as an error or a warning, and what it threw. */
  readonly complaints: readonly string[];
  /** Every address that was asked for. */
  readonly requests: readonly string[];
  /** Address of the page itself. */
  readonly url: string;
}

/** A real browser for the tests of one file; returns a function that opens a page from a file, as people do. */
export const useBrowser = (): ((html: string, options?: BrowserContextOptions) => Promise<Opened>) => {
  const folder = tempFolder();
  let browser: Browser | undefined;
  let count = 0;
  beforeAll(async () => {
    if (!existsSync(CHROMIUM))
      throw new Error(
        `${CHROMIUM} is not here: bash test/tools/setup.sh installs it, or names its package; or set CHROMIUM`,
      );
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      chromiumSandbox: false,
      // A browser without scrollbars would hide what does not fit beside them.
      ignoreDefaultArgs: ['--hide-scrollbars'],
      args: [
        ...['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
        ...['--disable-component-update', '--disable-sync'],
      ],
    });
  });
  afterAll(async () => browser?.close());
  return async (html, options) => {
    const url = pathToFileURL(folder.write(`page-${(count += 1)}.html`, html)).href;
    const context = await browser!.newContext(options);
    const page = await context.newPage();
    const complaints: string[] = [];
    const requests: string[] = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    context.on('request', (request) => requests.push(request.url()));
    await page.goto(url);
    return { page, complaints, requests, url };
  };
};
