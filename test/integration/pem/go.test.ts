import { execFileSync, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPem } from '../../../src/pem/read.js';

const hasGo = spawnSync('go', ['version']).status === 0;
const TEXTS = 20_000;

const key = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
    format: 'pem',
    type: 'spki',
  }) as string;
const [one, two] = [key(), key()];

/** Pieces that files are spoilt with: markers, line ends, headers, blanks, damage. */
const piece = fc.constantFrom(
  one,
  two,
  one.trimEnd(),
  one.replaceAll('\n', '\r\n'),
  one.replace(/^/gm, '  '),
  `\uFEFF${one}`,
  one.slice(0, 90),
  one.slice(40),
  one.replace('MFk', 'M!k'),
  one.replaceAll('\n', ' \t\n'),
  '-----BEGIN X-----\n',
  '-----END X-----\n',
  '-----END X-----',
  '-----BEGIN X-----',
  'Proc-Type: 4,ENCRYPTED\nDEK-Info: x\n\n',
  'a: b\n',
  'QUJD\n',
  'QUI=\n',
  'QUI\n',
  '\n',
  ' ',
  '-----',
  '# kid abc\n',
  '\t',
  '\r\n',
  ':',
  '-----END ',
  '-----BEGIN ',
);

describe.skipIf(!hasGo)("Go's own encoding/pem, on the same bytes", () => {
  let folder: string;
  let oracle: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'certroll-go-'));
    oracle = join(folder, 'pem-oracle');
    const source = fileURLToPath(new URL('../../support/go/pem-oracle.go', import.meta.url));
    execFileSync('go', ['build', '-o', oracle, source], { env: { ...process.env, GO111MODULE: 'off' } });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it(`gives the blocks that certroll reads, in ${TEXTS} spoilt files`, () => {
    const seed = Number(process.env['CERTROLL_PEM_SEED'] ?? Date.now() % 1_000_000_000);
    process.stdout.write(`PEM against Go: seed ${seed}\n`);
    const texts = fc
      .sample(fc.array(piece, { maxLength: 7 }), { seed, numRuns: TEXTS })
      .map((parts) => parts.join(''));
    const input = texts.map((text) => JSON.stringify(text)).join('\n');
    const output = execFileSync(oracle, { input, encoding: 'utf8', maxBuffer: 1 << 28 });
    const judged = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(judged).toHaveLength(TEXTS);
    for (const [at, text] of texts.entries()) {
      const read = readPem(text).blocks.map(({ type, bytes }) => ({ type, bytes: bytes.toString('base64') }));
      expect({ text, blocks: read }).toEqual({ text, blocks: judged[at] });
    }
  });
});
