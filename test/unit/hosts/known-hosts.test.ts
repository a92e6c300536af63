import { createHmac, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { fingerprint, judgeKey, KnownHosts } from '../../../src/hosts/known-hosts.js';

/** A public key blob of a type, as known_hosts has it: the type's name, then anything. */
const key = (type: string, tail = 'key'): Buffer => {
  const name = Buffer.from(type);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(name.length);
  return Buffer.concat([length, name, Buffer.from(tail)]);
};
const ED25519 = key('ssh-ed25519');
const RSA = key('ssh-rsa');
const line = (names: string, blob = ED25519): string =>
  `${names} ${blob.subarray(4, 4 + blob.readUInt32BE(0)).toString()} ${blob.toString('base64')} a comment\n`;
const knows = (text: string, host: string, port = 22): boolean =>
  new KnownHosts([text]).lookup(host, port).keys.length > 0;

describe('known_hosts', () => {
  it.each([
    ['cp1', 'cp1', 22, true],
    ['cp1', 'CP1', 22, true],
    ['CP1', 'cp1', 22, true],
    ['cp1', 'cp11', 22, false],
    ['cp1,cp2', 'cp2', 22, true],
    ['cp*.net', 'cp1.example.net', 22, true],
    ['cp?', 'cp1', 22, true],
    ['cp?', 'cp12', 22, false],
    ['c[p]1', 'cp1', 22, false],
    ['*.net,!bad.net', 'good.net', 22, true],
    ['*.net,!bad.net', 'bad.net', 22, false],
    ['!bad.net,*.net', 'bad.net', 22, false],
    ['!bad.net', 'good.net', 22, false],
    ['[cp1]:2222', 'cp1', 2222, true],
    ['[cp1]:2222', 'cp1', 22, false],
    ['[cp1]:2222', 'cp1', 2223, false],
    ['[*]:2222', 'cp1', 2222, true],
    ['cp1', 'cp1', 2222, true],
  ])('with %s, %s at port %i is known: %s', (names, host, port, expected) => {
    expect(knows(line(names), host, port)).toBe(expected);
  });

  it('knows hashed names', () => {
    const salt = randomBytes(20);
    const hash = createHmac('sha1', salt).update('[cp1]:2222').digest('base64');
    const text = line(`|1|${salt.toString('base64')}|${hash}`);
    expect(knows(text, 'cp1', 2222)).toBe(true);
    expect(knows(text, 'cp2', 2222)).toBe(false);
  });

  it('takes no hash of a kind it does not know, and none that is cut short', () => {
    expect(knows(line('|2|c2FsdA==|aGFzaA=='), 'cp1')).toBe(false);
    expect(knows(line('|1|c2FsdA==|'), 'cp1')).toBe(false);
  });

  it('passes over comments, blank lines, unknown marks and keys that contradict their type', () => {
    const text = [
      '# cp1 ssh-ed25519 AAAA',
      '',
      `@unknown ${line('cp1')}`,
      `cp1 ssh-rsa ${ED25519.toString('base64')}`,
      'cp1 ssh-ed25519',
      'cp1',
    ].join('\n');
    expect(knows(text, 'cp1')).toBe(false);
  });

  it('prefers the entry of the port over the bare name', () => {
    const known = new KnownHosts([line('cp1', RSA), line('[cp1]:2222')]).lookup('cp1', 2222);
    expect(known.keys.map(({ type }) => type)).toEqual(['ssh-ed25519']);
  });

  it('keeps revoked keys and authorities apart from keys', () => {
    const text = line('cp1') + `@revoked ${line('*', RSA)}` + `@cert-authority ${line('*.net')}`;
    expect(new KnownHosts([text]).lookup('cp1', 22)).toEqual({
      keys: [{ type: 'ssh-ed25519', key: ED25519 }],
      revoked: [RSA],
      hasAuthority: false,
    });
    expect(new KnownHosts([text]).lookup('x.net', 22)).toMatchObject({ keys: [], hasAuthority: true });
  });

  it('finds a key revoked by its bare name at every port', () => {
    const known = new KnownHosts([line('cp1'), `@revoked ${line('cp1')}`]).lookup('cp1', 2222);
    expect(judgeKey(known, ED25519)).toBe('revoked');
  });

  it('stays quick on a pattern made to be slow', () => {
    const begin = performance.now();
    expect(knows(line(`${'*a'.repeat(30)}b`), 'a'.repeat(60))).toBe(false);
    expect(performance.now() - begin).toBeLessThan(1000);
  });
});

describe('a presented host key', () => {
  const known = new KnownHosts([
    line('cp1') + line('cp1', RSA) + `@revoked ${line('cp1', key('ssh-rsa', 'old'))}`,
  ]);

  it.each([
    ['known', ED25519, 'cp1'],
    ['known', RSA, 'cp1'],
    ['changed', key('ssh-ed25519', 'other'), 'cp1'],
    ['revoked', key('ssh-rsa', 'old'), 'cp1'],
    ['unknown', ED25519, 'cp2'],
  ])('is %s', (verdict, presented, host) => {
    expect(judgeKey(known.lookup(host, 22), presented)).toBe(verdict);
  });

  it('has the fingerprint that ssh prints', () => {
    expect(fingerprint(ED25519)).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
  });
});
