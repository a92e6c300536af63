import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readFile } from '../../../src/audit/content.js';
import { loadedOf } from '../../../src/audit/inventory.js';
import { isSameName, isTrusted } from '../../../src/audit/verify.js';
import { certs, fileOf, NOW, pem, pki, withCertificates } from './seen.js';

withCertificates();

describe('a way to a root', () => {
  const views = (...names: readonly string[]) =>
    readFile({ kind: 'certificate', text: pem(...names) }).certificates;
  it.each([
    [['leaf'], ['ca'], true],
    [['leaf'], ['other', 'ca'], true],
    [['leaf'], ['other'], false],
    [['deep'], ['ca'], false],
    [['deep', 'middle'], ['ca'], true],
    [['deep', 'other', 'middle'], ['ca'], true],
    [['deep'], ['middle'], true],
    [['ca'], ['ca'], true],
    [['leaf'], ['leaf'], true],
    [[], ['ca'], false],
    [['leaf'], [], false],
  ] as const)('%j by %j: %s, as openssl finds', (chain, roots, expected) => {
    expect(isTrusted(views(...chain), views(...roots))).toBe(expected);
    if (chain.length === 0 || roots.length === 0) return;
    const bundle = `${pki.dir}/roots.pem`;
    const rest = `${pki.dir}/rest.pem`;
    execFileSync('sh', ['-c', 'cat > "$1"', 'sh', bundle], { input: pem(...roots) });
    execFileSync('sh', ['-c', 'cat > "$1"', 'sh', rest], { input: pem(...chain.slice(1)) });
    const untrusted = chain.length > 1 ? ['-untrusted', rest] : [];
    const words = ['verify', '-partial_chain', '-CAfile', bundle, ...untrusted, certs[chain[0]]!.certFile];
    let isFound = true;
    try {
      execFileSync('openssl', words, { stdio: 'pipe' });
    } catch {
      isFound = false;
    }
    expect(isFound).toBe(expected);
  });

  it('is none over one that has expired, when dates count', () => {
    expect(isTrusted(views('old'), views('ca'))).toBe(true);
    expect(isTrusted(views('old'), views('ca'), NOW)).toBe(false);
  });

  it('knows a name however it is written', () => {
    expect(isSameName('CN=a,O=b', 'O=b, CN=a')).toBe(true);
    expect(isSameName('CN = a\nO = b', 'CN=a,O=b')).toBe(true);
    expect(isSameName('CN=a', 'CN=b')).toBe(false);
  });
});

it('what is loaded is stale only where that is known, whatever the times are', () => {
  const time = fc.integer({ min: 0, max: 1e9 });
  fc.assert(
    fc.property(
      time,
      time,
      time,
      fc.constantFrom('live', 'restart'),
      (changedAtMs, startedAtMs, later, reload) => {
        const nowMs = Math.max(changedAtMs, startedAtMs) + later;
        const times = { startedAtMs, nowMs };
        const { state } = loadedOf(
          { reload },
          fileOf({ changedAtMs }),
          { certificates: [] },
          undefined,
          times,
        );
        if (changedAtMs < startedAtMs) expect(state).toBe('same');
        else
          expect(state).toBe(
            reload === 'restart' ? 'stale' : nowMs - changedAtMs > 300_000 ? 'same' : 'unknown',
          );
      },
    ),
  );
});
