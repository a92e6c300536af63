import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { prefixEnd } from '../../../src/etcd/range.js';

describe('the range of a prefix', () => {
  const bytes = fc.uint8Array({ maxLength: 6 }).map((array) => Buffer.from(array));
  const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 6 });

  it('holds the keys that begin with the prefix, and no others', () => {
    fc.assert(
      fc.property(text, bytes, fc.boolean(), (prefix, other, beneath) => {
        const start = Buffer.from(prefix);
        const key = beneath ? Buffer.concat([start, other]) : other;
        const inRange = Buffer.compare(key, start) >= 0 && Buffer.compare(key, prefixEnd(prefix)) < 0;
        expect(inRange).toBe(key.subarray(0, start.length).equals(start));
      }),
    );
  });

  it('has no end for the empty prefix', () => {
    expect(prefixEnd('')).toEqual(Buffer.from([0]));
  });
});
