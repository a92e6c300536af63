import { describe, expect, it } from 'vitest';
import { brokenEdges } from '../../../src/trust/edges.js';
import { prove, type ProvenChange } from '../../../src/trust/prove.js';
import {
  withEndsRead,
  withFile,
  withHost,
  type CaRef,
  type CertificateEnd,
  type HostState,
  type World,
} from '../../../src/trust/world.js';
import { file, world } from '../../support/worlds.js';

const SERVED = '/pki/serving.crt';
const TRUSTED = '/pki/ca.crt';

const host = (
  name: string,
  path: string,
  authorities: readonly CaRef[],
  end: Partial<CertificateEnd>,
): HostState => ({
  name,
  files: new Map([[path, file({ authorities })]]),
  services: new Map(),
  certificateEnds: [
    {
      process: `x@${name}`,
      role: 'trusts',
      channel: 'apiserver-serving',
      file: path,
      reload: 'restart',
      loaded: [authorities],
      ...end,
    },
  ],
});

/** One apiserver that serves, and two kubelets that check it. */
const start = (reload: 'restart' | 'live' = 'live'): World =>
  world([
    host('cp1', SERVED, ['old ca'], { process: 'kube-apiserver@cp1', role: 'presents', reload }),
    host('node1', TRUSTED, ['old ca'], { process: 'kubelet@node1' }),
    host('node2', TRUSTED, ['old ca'], { process: 'kubelet@node2' }),
  ]);

const write = (name: string, path: string, authorities: readonly CaRef[]): ProvenChange => ({
  title: `write ${path} on ${name}`,
  model: (before) => withFile(before, name, path, file({ authorities })),
});
const restart = (name: string, process: string): ProvenChange => ({
  title: `restart ${process}`,
  model: (before) => withHost(before, name, (state) => withEndsRead(state, process)),
});
const trustBoth = ['node1', 'node2'].map((name) => write(name, TRUSTED, ['old ca', 'new ca']));
const loadBoth = ['node1', 'node2'].map((name) => restart(name, `kubelet@${name}`));
const serve = write('cp1', SERVED, ['new ca']);
const served = restart('cp1', 'kube-apiserver@cp1');
const trustNew = ['node1', 'node2'].map((name) => write(name, TRUSTED, ['new ca']));

describe('the proof of a rotated certificate authority', () => {
  it('holds when all trust both, have loaded both, and only then the new leaf is served', () => {
    expect(
      prove([...trustBoth, ...loadBoth, serve, served, ...trustNew, ...loadBoth], start()),
    ).toMatchObject({
      holds: true,
      mended: [],
    });
  });

  it('refuses the outage: a leaf served while a kubelet has the new authority on disk only', () => {
    const [first] = loadBoth;
    const proof = prove([...trustBoth, ...(first ? [first] : []), serve], start());
    expect(proof).toMatchObject({
      holds: false,
      refusal: {
        change: 'write /pki/serving.crt on cp1',
        edges: [{ presenter: 'kube-apiserver@cp1', verifier: 'kubelet@node2', where: 'loaded' }],
        remedy: expect.stringMatching(/Have kubelet@node2 load a bundle with new ca .* before/) as string,
      },
    });
  });

  it('refuses to write a leaf for a process that reads only at start, too: it may crash and come back', () => {
    expect(prove([serve], start('restart'))).toMatchObject({ holds: false, refusal: { at: 0 } });
  });

  it('refuses to drop the old authority while a process that reads by itself may not have done so yet', () => {
    const early = prove([...trustBoth, ...loadBoth, serve, ...trustNew, ...loadBoth], start());
    expect(early).toMatchObject({
      holds: false,
      refusal: { change: 'write /pki/ca.crt on node1', edges: [{ where: 'disk' }] },
    });
  });

  it('knows of no edge between ends of different channels', () => {
    const others = world([
      host('cp1', SERVED, ['a'], { role: 'presents', channel: 'etcd-server' }),
      host('cp2', TRUSTED, ['b'], { channel: 'etcd-peer' }),
    ]);
    expect(brokenEdges(others)).toEqual([]);
  });
});
