import { describe, expect, it } from 'vitest';
import { CertrollError } from '../../../src/core/errors.js';
import { proveAll } from '../../../src/run/prove-all.js';
import { tellEdges } from '../../../src/run/tell-edges.js';
import type { BrokenEdge } from '../../../src/trust/edges.js';
import type { World } from '../../../src/trust/world.js';
import { faultyWorld, planSteps, soundWorld } from '../../support/worlds.js';

const refused = (start: World, steps: Parameters<typeof planSteps>[1]): CertrollError => {
  try {
    proveAll(planSteps(start, steps), start);
  } catch (thrown) {
    if (thrown instanceof CertrollError) return thrown;
    throw thrown;
  }
  throw new Error('was not refused');
};

const hosts = ['cp1', 'cp2', 'cp3'].map((name) => `${name}.example.net`);

describe('what the proof refuses is told', () => {
  it('by the step in the first line, then the change, who presents and who refuses, names folded', () => {
    const error = refused(soundWorld(hosts), ['sa-keys/issue', 'sa-keys/promote']);
    expect(error).toMatchObject({ code: 'proof.refused', exit: 4 });
    expect(error.message.split('\n')).toEqual([
      "refused: at step 'sa-keys/promote': tokens would be refused, in 6 pairs",
      '  change 11: record in etcd: next keys of cp[1-3].example.net as promoted',
      '  with that the keys are allowed to sign, wherever the run may stop; then:',
      "  a token signed with 'next key of cp1.example.net', presented by kube-apiserver@cp1.example.net, kube-controller-manager@cp1.example.net, would be refused by kube-apiserver@cp[1-3].example.net",
    ]);
    expect(error.hint).toBe(
      'Nothing was touched. Write the public key next key of cp1.example.net into the verification files of kube-apiserver@cp[1-3].example.net first, and keep it there while tokens signed with it live.',
    );
  });

  it('of a plan that leaves broken what was broken before it', () => {
    const error = refused(faultyWorld(), [['apiserver/restart', { only: 'all' }]]);
    const [first, ...pairs] = error.message.split('\n');
    expect(first).toBe('refused: this plan does not mend what is broken now, before any change:');
    expect(pairs).toContain(
      "  a token signed with 'key of cp1', presented by kube-apiserver@cp1, kube-controller-manager@cp1, is refused by kube-apiserver@cp[2-3]",
    );
  });
});

describe('broken edges', () => {
  const edge = (key: string, verifier: string, where: BrokenEdge['where']): BrokenEdge => ({
    presenter: 'kube-apiserver@cp1',
    verifier: `kube-apiserver@${verifier}`,
    credential: { kind: 'token-key', key },
    where,
  });

  it('tell a restart only where what is loaded would do', () => {
    expect(
      tellEdges([edge('k', 'cp1', 'loaded'), edge('k', 'cp1', 'disk'), edge('k', 'cp2', 'disk')], 'then'),
    ).toEqual([
      "  a token signed with 'k', presented by kube-apiserver@cp1, would be refused by kube-apiserver@cp1",
      "  a token signed with 'k', presented by kube-apiserver@cp1, would be refused by kube-apiserver@cp2 after its next restart",
    ]);
  });

  it('are one line where the same verifiers refuse several keys', () => {
    const edges = ['next key of cp1', 'next key of cp2'].flatMap((key) => [
      edge(key, 'cp1', 'loaded'),
      edge(key, 'cp2', 'loaded'),
    ]);
    expect(tellEdges(edges, 'then')).toEqual([
      "  a token signed with 'next key of cp[1-2]', presented by kube-apiserver@cp1, would be refused by kube-apiserver@cp[1-2]",
    ]);
  });

  it('that would fill a page are cut, and the rest is counted', () => {
    const edges = Array.from({ length: 30 }, (_, at) => edge(`key ${'x'.repeat(at)}`, `cp${at}`, 'loaded'));
    const lines = tellEdges(edges, 'now');
    expect(lines).toHaveLength(11);
    expect(lines.at(-1)).toBe('  and 20 more such lines');
  });
});
