import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fingerprint, KnownHosts } from '../../../src/hosts/known-hosts.js';

describe('known_hosts, judged by ssh-keygen itself', () => {
  const dir = mkdtempSync(join(tmpdir(), 'certroll-known-'));
  const keys = ['ed25519', 'ecdsa', 'rsa'];
  const publicKeys: string[] = [];

  beforeAll(() => {
    for (const type of keys) {
      execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-C', '', '-f', join(dir, type)]);
      publicKeys.push(readFileSync(join(dir, `${type}.pub`), 'utf8').trim());
    }
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  const host = fc.constantFrom('cp1', 'cp2', 'cp1.example.net', 'node-a.example.net', '10.0.0.1', 'fe80::1');
  const port = fc.constantFrom(22, 22, 2222);
  const name = fc.tuple(host, port).map(([text, number]) => (number === 22 ? text : `[${text}]:${number}`));
  const pattern = fc.oneof(
    name,
    fc.constantFrom('*', 'cp?', '*.example.net', '[*]:2222', 'c*1*', '10.0.0.*', '[cp1]:*'),
    fc.constantFrom('!cp1', '!*.example.net', '![cp1]:2222'),
  );
  const names = fc.array(pattern, { minLength: 1, maxLength: 3 }).map((patterns) => patterns.join(','));
  const marker = fc.constantFrom('', '', '', '', '@revoked ', '@cert-authority ');
  const entry = fc.record({ marker, names, key: fc.nat(2), isHashed: fc.boolean() });
  const file = fc.array(entry, { minLength: 1, maxLength: 6 });

  /** Writes the entries; those to be hashed are hashed by ssh-keygen, which does so for whole files. */
  const write = (
    entries: readonly { marker: string; names: string; key: number; isHashed: boolean }[],
  ): string => {
    const lines = (isHashed: boolean): string =>
      entries
        .filter((one) => one.isHashed === isHashed)
        .map((one) => `${one.marker}${one.names} ${publicKeys[one.key] ?? ''}\n`)
        .join('');
    const hashed = join(dir, 'hashed');
    writeFileSync(hashed, lines(true));
    spawnSync('ssh-keygen', ['-H', '-f', hashed]);
    const all = join(dir, 'all');
    writeFileSync(all, `# a comment\n\n${lines(false)}${readFileSync(hashed, 'utf8')}`);
    return all;
  };

  /** What ssh-keygen finds for a name, in the order of the file: `key SHA256:…`. */
  const found = (path: string, text: string): string[] =>
    spawnSync('ssh-keygen', ['-F', text, '-f', path])
      .stdout.toString()
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const words = line.split(' ');
        const mark = words[0]?.startsWith('@') ? words.shift() : 'key';
        return `${mark ?? ''} ${fingerprint(Buffer.from(words[2] ?? '', 'base64'))}`;
      })
      .sort();

  it('finds the same keys for the same names', () => {
    fc.assert(
      fc.property(
        file,
        fc.array(fc.tuple(host, port), { minLength: 2, maxLength: 2 }),
        (entries, targets) => {
          const path = write(entries);
          const known = new KnownHosts([readFileSync(path, 'utf8')]);
          for (const [text, number] of targets) {
            const judged = found(path, number === 22 ? text : `[${text}]:${number}`);
            const own = known.lookup(text, number);
            const isOfPort = number === 22 || own.keys.length === 0 || judged.length > 0;
            // By the bare name only: a second look, which ssh-keygen does not take.
            if (!isOfPort || (number !== 22 && judged.every((line) => line.startsWith('@revoked')))) continue;
            expect({
              text,
              number,
              keys: [...own.keys.map(({ key }) => `key ${fingerprint(key)}`)].sort(),
            }).toEqual({
              text,
              number,
              keys: judged.filter((line) => line.startsWith('key')),
            });
            expect(own.hasAuthority).toBe(judged.some((line) => line.startsWith('@cert-authority')));
            expect(new Set(own.revoked.map((key) => `@revoked ${fingerprint(key)}`))).toEqual(
              new Set(judged.filter((line) => line.startsWith('@revoked'))),
            );
          }
        },
      ),
      { numRuns: 80, endOnFailure: true },
    );
  });
});
