import { describe, expect, it } from 'vitest';
import { renderMatrix, trustMatrix } from '../../../src/report/matrix.js';
import type { HostState } from '../../../src/trust/world.js';
import { controlPlane, faultyWorld, soundWorld, world } from '../../support/worlds.js';

const plain = { color: false, unicode: false };

/** A control plane whose apiserver's loaded keys could not be seen. */
const unseen = (host: HostState): HostState => ({
  ...host,
  services: new Map(
    [...host.services].map(([name, service]) => [
      name,
      { ...service, loaded: { ...service.loaded, verifies: [], how: 'unknown' as const } },
    ]),
  ),
});

describe('the trust matrix', () => {
  it('shows who accepts whose tokens where the keys are not shared', () => {
    expect(renderMatrix(faultyWorld(['cp1.example.net', 'cp2.example.net']), plain)).toBe(
      [
        'KID           STATE  cp1       cp2       SIGNS FOR',
        'key of cp1.e  -      accepted  REFUSED   apiserver@cp1, controller-manager@cp1',
        'key of cp2.e  -      REFUSED   accepted  apiserver@cp2, controller-manager@cp2',
      ].join('\n'),
    );
  });

  it('has signs and colours for a terminal that can show them', () => {
    const text = renderMatrix(faultyWorld(['cp1', 'cp2']), { color: true, unicode: true });
    expect(text).toContain('\u001b[32m✔ accepted\u001b[39m');
    expect(text).toContain('\u001b[31m✘ refused\u001b[39m');
  });

  it('does not call a key refused that nothing signs with, unless its tokens still live', () => {
    const hosts = [controlPlane('cp1', 'a', ['a', 'old']), controlPlane('cp2', 'b', ['a', 'b'])];
    expect(renderMatrix(world(hosts), plain)).toMatch(
      /^old +- +accepted +not listed +nothing signs with it$/m,
    );
    const record = {
      key: 'old',
      state: 'soaking' as const,
      signers: [],
      rotation: undefined,
      since: new Date('2025-12-20T06:00:00Z'),
    };
    const soaking = renderMatrix(world(hosts, { keys: new Map([['old', record]]) }), plain);
    expect(soaking).toMatch(/^old +soaking 11d 18h +accepted +REFUSED/m);
  });

  it('says unknown where it could not look', () => {
    const seen = world([controlPlane('cp1', 'a', ['a']), unseen(controlPlane('cp2', 'b', []))]);
    expect(renderMatrix(seen, plain)).toMatch(/^a +- +accepted +\? unknown/m);
    expect(trustMatrix(seen)[0]?.accepted).toEqual(new Map([['cp1', true]]));
  });

  it('keeps the names of hosts whole where they would look alike, and addresses always', () => {
    expect(renderMatrix(soundWorld(['cp1.a.net', 'cp1.b.net']), plain)).toMatch(
      /^KID +STATE +cp1\.a\.net +cp1\.b\.net/,
    );
    expect(renderMatrix(soundWorld(['10.0.0.1']), plain)).toMatch(/10\.0\.0\.1.*\n.*apiserver@10\.0\.0\.1/);
  });
});
