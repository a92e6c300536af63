import { describe, expect, it } from 'vitest';
import { commonDomain, shortProcess, withoutDomain } from '../../../src/report/names.js';

describe('names', () => {
  it('of processes are short, and what is no process stays', () => {
    const names = new Map([['cp1.example.net', 'cp1']]);
    expect(shortProcess('kube-apiserver@cp1.example.net', names)).toBe('apiserver@cp1');
    expect(shortProcess('kube-apiserver@cp2.example.net', names)).toBe('apiserver@cp2.example.net');
    expect(shortProcess('an earlier signer', names)).toBe('an earlier signer');
  });

  it('lose a domain that all share, but for those in paths', () => {
    expect(commonDomain(['a.x.net', 'b.x.net'])).toBe('.x.net');
    expect(commonDomain(['a.x.net', 'b.y.net'])).toBeUndefined();
    expect(commonDomain(['10.0.0.1', '10.0.0.2'])).toBeUndefined();
    expect(commonDomain([])).toBeUndefined();
    expect(withoutDomain('next keys of cp[1-3].x.net, /srv/cp1.x.net on a.x.net', '.x.net')).toBe(
      'next keys of cp[1-3], /srv/cp1.x.net on a',
    );
  });
});
