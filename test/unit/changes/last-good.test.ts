import { generateKeyPairSync } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { ApplyContext } from '../../../src/changes/change.js';
import { lastGoodFiles, type LastGood } from '../../../src/changes/last-good.js';
import type { FactRequest, FileFact } from '../../../src/hosts/host.js';
import { canonicalPem, encodeBundle, kidOf } from '../../../src/pem/keys.js';

const folder = mkdtempSync(join(tmpdir(), 'certroll-good-'));
afterAll(() => rmSync(folder, { recursive: true }));

const makeKey = (name: string) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const path = join(folder, name);
  writeFileSync(path, privateKey.export({ format: 'pem', type: 'sec1' }), { mode: 0o600 });
  const words = ['req', '-x509', '-new', '-key', path, '-subj', '/CN=sa', '-days', '2'];
  const certificate = execFileSync('openssl', words, { encoding: 'utf8' });
  return { kid: kidOf(publicKey), pem: canonicalPem(publicKey), certificate };
};
const [old, next, ancient, other] = ['old', 'next', 'ancient', 'other'].map(makeKey) as [
  ReturnType<typeof makeKey>,
  ReturnType<typeof makeKey>,
  ReturnType<typeof makeKey>,
  ReturnType<typeof makeKey>,
];
type Key = typeof old;

const KEY = '/pki/sa.key';
const CRT = '/pki/sa.crt';
const BUNDLE = '/pki/bundle.pem';
const about = { exists: true, mode: 0o640, owner: 'root', group: 'kube', sha256: '' } as const;

/** What lies on a host: every file was written after the apiserver had started. */
const files = (given: {
  readonly key: Key;
  readonly bundle: readonly Key[];
  readonly previous?: { readonly key?: Key; readonly bundle?: readonly Key[] };
}): ReadonlyMap<string, FileFact> => {
  const stamp = { changedAtMs: 2000, mtimeMs: 2000 };
  const found: FileFact[] = [];
  const put = (ending: string, key: Key | undefined, bundle: readonly Key[] | undefined): void => {
    if (key) {
      found.push({ ...about, ...stamp, path: KEY + ending, publicKeyPem: key.pem });
      found.push({ ...about, ...stamp, path: CRT + ending, content: key.certificate });
    }
    if (bundle)
      found.push({
        ...about,
        ...stamp,
        path: BUNDLE + ending,
        content: encodeBundle(bundle.map(({ pem }) => pem)),
      });
  };
  put('', given.key, given.bundle);
  put('.certroll-previous', given.previous?.key, given.previous?.bundle);
  return new Map(found.map((fact) => [fact.path, fact]));
};

const lastGood = async (
  there: ReadonlyMap<string, FileFact>,
  loaded: { readonly signs: Key; readonly verifies: readonly Key[] },
): Promise<readonly LastGood[]> => {
  const readFacts = ({ publicFiles = [], privateKeys = [] }: FactRequest) =>
    Promise.resolve({
      files: new Map(
        [...publicFiles, ...privateKeys].map((path) => [path, there.get(path) ?? { exists: false, path }]),
      ),
    });
  const context = { doors: { host: () => ({ readFacts }) } } as unknown as ApplyContext;
  const argv = [
    'kube-apiserver',
    `--service-account-signing-key-file=${KEY}`,
    `--service-account-key-file=${CRT}`,
    `--service-account-key-file=${BUNDLE}`,
  ];
  const before = { running: true, pid: 1, startTicks: 1, startedAtMs: 1000, argv, user: 'kube' } as const;
  const verifies = new Set(loaded.verifies.map(({ kid }) => kid));
  return lastGoodFiles('cp1', before, { signs: loaded.signs.kid, verifies }, context);
};

describe('the last good files of an apiserver that does not get ready', () => {
  it('are its bundle, where only that was changed', async () => {
    const there = files({ key: old, bundle: [old, other, next], previous: { bundle: [old, other] } });
    expect(await lastGood(there, { signs: old, verifies: [old, other] })).toEqual([{ path: BUNDLE }]);
  });

  it('are key and certificate, where those were swapped; the new ones go back to where they waited', async () => {
    const there = files({ key: next, bundle: [old, next], previous: { key: old, bundle: [old] } });
    expect(await lastGood(there, { signs: old, verifies: [old, next] })).toEqual([
      { path: KEY, aside: `${KEY}.certroll-next` },
      { path: CRT, aside: `${CRT}.certroll-next` },
    ]);
  });

  it('are none where files are newer than the process and hold what it had loaded: a key of long ago does not come back', async () => {
    const there = files({ key: old, bundle: [old, other], previous: { key: ancient, bundle: [ancient] } });
    expect(await lastGood(there, { signs: old, verifies: [old, other] })).toEqual([]);
  });

  it('leave the key alone where only the bundle was changed, whatever the key was before', async () => {
    const there = files({
      key: old,
      bundle: [old, other, next],
      previous: { key: ancient, bundle: [old, other] },
    });
    expect(await lastGood(there, { signs: old, verifies: [old, other] })).toEqual([{ path: BUNDLE }]);
  });

  it('are none where they would not give back all that was loaded', async () => {
    const there = files({ key: old, bundle: [old, next], previous: { bundle: [old] } });
    expect(await lastGood(there, { signs: old, verifies: [old, other] })).toEqual([]);
  });
});
