import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../src/core/secret.js';
import { kidThatVerifies } from '../../../src/kube/token-signature.js';
import { canonicalPem, kidOf } from '../../../src/pem/keys.js';

interface Signer {
  readonly algorithm: string;
  readonly privateKey: KeyObject;
  readonly kid: string;
  readonly pem: string;
}

const rsa = (modulusLength: number): KeyObject => generateKeyPairSync('rsa', { modulusLength }).privateKey;
const ec = (namedCurve: string): KeyObject => generateKeyPairSync('ec', { namedCurve }).privateKey;
const signers: readonly Signer[] = [
  ...[rsa(2048), rsa(2048), rsa(3072)].map((key) => ['RS256', key] as const),
  ...[ec('P-256'), ec('P-256')].map((key) => ['ES256', key] as const),
  ['ES384', ec('P-384')] as const,
  ['ES512', ec('P-521')] as const,
].map(([algorithm, privateKey]) => ({
  ...{ algorithm, privateKey, kid: kidOf(privateKey) },
  pem: canonicalPem(privateKey),
}));

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token by node:crypto's own signer, with whatever header a test wants. */
const sign = ({ algorithm, privateKey }: Signer, claims: unknown, header: object): string => {
  const input = `${encode(header)}.${encode(claims)}`;
  const signature = createSign(`sha${algorithm.slice(2)}`)
    .update(input)
    .sign({ key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${input}.${signature.toString('base64url')}`;
};

const keysOf = (of: readonly Signer[]): ReadonlyMap<string, string> =>
  new Map(of.map(({ kid, pem }) => [kid, pem]));
const find = (token: string, keys: readonly Signer[]): string | undefined =>
  kidThatVerifies(new Secret(token), keysOf(keys));

const aSigner = fc.constantFrom(...signers);
const claims = fc.record({ sub: fc.string(), iss: fc.string() });
/** All keys, in any order. */
const order = fc.shuffledSubarray([...signers], { minLength: signers.length });

describe('the key that verifies a token', () => {
  it('is the one that signed it, whatever else is known and whatever kid and algorithm the header claims', () => {
    const header = fc.record({ alg: fc.constantFrom('RS256', 'ES256', 'ES384', 'none'), claimed: aSigner });
    fc.assert(
      fc.property(aSigner, claims, header, order, (signer, body, { alg, claimed }, keys) => {
        expect(find(sign(signer, body, { alg, kid: claimed.kid }), keys)).toBe(signer.kid);
      }),
    );
  });

  it('is none when the signer is not known, although the header names a known one', () => {
    fc.assert(
      fc.property(aSigner, aSigner, claims, (signer, claimed, body) => {
        const others = signers.filter((each) => each !== signer);
        expect(find(sign(signer, body, { alg: claimed.algorithm, kid: claimed.kid }), others)).toBe(
          undefined,
        );
      }),
    );
  });

  it('is none when a single character of the token is another', () => {
    fc.assert(
      fc.property(
        aSigner,
        claims,
        fc.nat(),
        fc.constantFrom(...Array.from('Aa0_-.=')),
        (signer, body, at, other) => {
          const token = sign(signer, body, { alg: signer.algorithm, kid: signer.kid });
          const place = at % token.length;
          fc.pre(token[place] !== other);
          const changed = token.slice(0, place) + other + token.slice(place + 1);
          expect(find(changed, signers)).toBe(undefined);
        },
      ),
    );
  });

  it('is none for what is no token', () => {
    fc.assert(fc.property(fc.string(), (text) => find(text, signers) === undefined));
    expect(find('eyJhbGciOiJub25lIn0.e30.', signers)).toBe(undefined);
  });

  it('is not looked for with keys that sign no tokens, or that are no keys', () => {
    const [first] = signers;
    if (!first) throw new Error('no signer');
    const keys = new Map([
      ['ed25519', canonicalPem(generateKeyPairSync('ed25519').publicKey)],
      ['secp256k1', canonicalPem(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey)],
      ['none', 'no key'],
      [first.kid, first.pem],
    ]);
    expect(kidThatVerifies(new Secret(sign(first, {}, { alg: 'RS256' })), keys)).toBe(first.kid);
  });
});
