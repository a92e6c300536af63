import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeHolder, holderInfoOf } from '../../../src/etcd/holders.js';

describe('what a holder wrote of itself', () => {
  const info = fc.record({
    owner: fc.string(),
    pid: fc.nat(),
    run: fc.string(),
    reason: fc.string(),
    since: fc.string(),
  });

  it('is read back', () => {
    fc.assert(
      fc.property(info, (written) => {
        expect(holderInfoOf(JSON.stringify(written))).toEqual(written);
      }),
    );
  });

  it('is nothing when others wrote it, or nobody did', () => {
    for (const value of ['', 'etcdctl', '{', 'null', '[]', '{"owner":"x"}', '{"owner":1,"pid":"x"}'])
      expect(holderInfoOf(value)).toBeUndefined();
    fc.assert(fc.property(fc.json(), (json) => void holderInfoOf(json)));
  });

  it('names it in errors, with its lease where there is no name', () => {
    const holder = { key: 'a/b/7c0ffee', createRevision: '3', lease: undefined };
    expect(describeHolder({ ...holder, info: undefined })).toBe(
      'etcdctl or another tool that leaves no name (lease 7c0ffee)',
    );
    const known = {
      owner: 'me@bastion',
      pid: 7,
      run: 'r1',
      reason: 'restart',
      since: '2026-01-01T00:00:00Z',
    };
    expect(describeHolder({ ...holder, info: known })).toBe(
      'me@bastion (pid 7, run r1, since 2026-01-01T00:00:00Z: restart)',
    );
  });
});
