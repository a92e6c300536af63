import { describe, expect, it } from 'vitest';
import { changesOf, gateRefusals } from '../../../src/changes/plan.js';
import { brokenEdges } from '../../../src/trust/edges.js';
import { prove } from '../../../src/trust/prove.js';
import { hostOf, onDisk } from '../../../src/trust/world.js';
import {
  CERTIFICATE,
  controlPlane,
  faultyWorld,
  file,
  planSteps,
  proven,
  ROTATION,
  SIGNING,
  soundWorld,
  world,
} from '../../support/worlds.js';
import { withFile } from '../../../src/trust/world.js';

describe('the plan of rotate-sa-keys', () => {
  it.each([
    ['per-host', faultyWorld()],
    ['per-host', soundWorld()],
    ['shared', faultyWorld()],
    ['shared', soundWorld(['cp1'])],
  ] as const)('in %s mode is proved and ends with every edge holding', (mode, start) => {
    const plan = planSteps(start, ROTATION, { mode });
    expect(prove(proven(plan), start)).toMatchObject({ holds: true });
    expect(gateRefusals(plan.entries, start)).toEqual([]);
    expect(brokenEdges(plan.predicted)).toEqual([]);
  });

  it('gives every signer a new key', () => {
    const { predicted } = planSteps(faultyWorld(), ROTATION);
    for (const host of predicted.hosts.values()) {
      for (const service of host.services.values())
        expect(service.loaded.signs).toBe(`next key of ${host.name}`);
    }
  });

  it('gives every signer the same new key in shared mode', () => {
    const { predicted } = planSteps(faultyWorld(), ROTATION, { mode: 'shared' });
    const keys = [...predicted.hosts.values()].map(
      (host) => onDisk(host, host.services.get('kube-apiserver')!).signs,
    );
    expect(new Set(keys)).toEqual(new Set(['next shared key']));
    expect(
      changesOf(planSteps(faultyWorld(), ROTATION, { mode: 'shared' })).filter(
        (change) => change.kind === 'generate-key',
      ),
    ).toHaveLength(1);
  });

  it('restarts each apiserver twice and never two of them in one section', () => {
    const plan = planSteps(faultyWorld(), ROTATION);
    const restarts = plan.entries.flatMap((entry) =>
      entry.kind === 'change' &&
      entry.change.kind === 'restart-service' &&
      entry.change.service === 'kube-apiserver'
        ? [entry]
        : [],
    );
    expect(restarts).toHaveLength(6);
    expect(new Set(restarts.map((entry) => entry.section)).size).toBe(6);
  });

  it('keeps every old key in the bundles and on record as soaking', () => {
    const { predicted } = planSteps(faultyWorld(), ROTATION);
    for (const old of ['key of cp1', 'key of cp2', 'key of cp3']) {
      expect(predicted.keys.get(old)?.state).toBe('soaking');
      for (const host of predicted.hosts.values())
        expect(onDisk(host, host.services.get('kube-apiserver')!).verifies).toContain(old);
    }
    expect(predicted.rotation).toMatchObject({ state: 'done' });
  });

  it('is empty when it is planned again on the world it leaves, as the same rotation', () => {
    const first = planSteps(faultyWorld(), ROTATION);
    // Everything but the closing record: as after a kill -9 in the last moment.
    const open = { ...first.predicted, rotation: { ...first.predicted.rotation!, state: 'open' as const } };
    const again = planSteps(open, ROTATION, { runId: 'run-2' });
    expect(changesOf(again).map((change) => change.kind)).toEqual(['put-records']);
  });

  it('names and certifies the key beside the live one, by the flags of the process', () => {
    const plan = planSteps(faultyWorld(['cp1']), ROTATION);
    const installs = changesOf(plan).filter((change) => change.kind === 'install-files');
    expect(installs).toEqual([
      {
        kind: 'install-files',
        host: 'cp1',
        files: [
          { from: `${SIGNING}.certroll-next`, to: SIGNING },
          { from: `${CERTIFICATE}.certroll-next`, to: CERTIFICATE },
        ],
      },
    ]);
  });

  it('keeps the key of a reimaged host that only the registry still knows', () => {
    const start = world([controlPlane('cp1', 'new', ['new']), controlPlane('cp2', 'b', ['b', 'lost'])], {
      keys: new Map([
        [
          'lost',
          {
            key: 'lost',
            state: 'promoted',
            signers: ['kube-apiserver@cp1'],
            rotation: undefined,
            since: new Date(0),
          },
        ],
      ]),
    });
    const { predicted } = planSteps(start, ROTATION);
    for (const host of predicted.hosts.values())
      expect(onDisk(host, host.services.get('kube-apiserver')!).verifies).toContain('lost');
  });
});

describe('the proof', () => {
  it('refuses a plan that promotes before it publishes, with the edge, the change and the remedy', () => {
    const start = soundWorld();
    const proof = prove(proven(planSteps(start, ['sa-keys/issue', 'sa-keys/promote'])), start);
    expect(proof).toMatchObject({
      holds: false,
      refusal: {
        change: 'record in etcd: next keys of cp[1-3] as promoted',
        remedy: expect.stringContaining('first') as string,
      },
    });
    expect(proof.holds ? [] : proof.refusal.edges).toContainEqual({
      presenter: 'kube-apiserver@cp1',
      verifier: 'kube-apiserver@cp2',
      credential: { kind: 'token-key', key: 'next key of cp1' },
      where: 'loaded',
    });
  });

  it('refuses a plan that promotes what was published and not yet loaded', () => {
    const start = soundWorld();
    const steps = ['sa-keys/issue', 'sa-keys/publish', 'sa-keys/promote', 'sa-keys/soak'];
    expect(prove(proven(planSteps(start, steps)), start)).toMatchObject({
      holds: false,
      refusal: { edges: [{ where: 'loaded' }, {}, {}, {}, {}, {}] },
    });
  });

  it('refuses a plan that leaves a fault in place', () => {
    const start = faultyWorld();
    expect(prove([], start)).toMatchObject({
      holds: false,
      refusal: { at: 0, change: 'the end of the plan' },
    });
  });

  it('refuses to take away a key that still signs', () => {
    const start = soundWorld();
    const broken = prove(
      [
        {
          title: 'drop key of cp1 on cp2',
          model: (before) =>
            withFile(
              before,
              'cp2',
              hostOf(before, 'cp2').services.get('kube-apiserver')!.verificationFiles[1]!,
              file({ verificationKeys: ['key of cp2', 'key of cp3'] }),
            ),
        },
      ],
      start,
    );
    expect(broken).toMatchObject({
      holds: false,
      refusal: { at: 0, edges: [{ credential: { key: 'key of cp1' }, where: 'disk' }, {}] },
    });
  });
});

describe('a cookbook whose steps come too early', () => {
  it.each(['sa-keys/publish', 'sa-keys/accepted', 'sa-keys/promote'])(
    'is refused at %s, which needs an issued key',
    (step) => {
      expect(() => planSteps(soundWorld(), [step])).toThrow(/no next key is staged/);
    },
  );
});

describe('a run stopped between the restart and its gate', () => {
  it('looks at the gate when it is run again', () => {
    const { predicted } = planSteps(soundWorld(), ROTATION);
    const rotation = { ...predicted.rotation!, state: 'open' as const };
    const keys = new Map(
      [...predicted.keys].map(([key, record]) => [key, { ...record, state: 'accepted' as const }]),
    );
    const again = planSteps({ ...predicted, rotation, keys }, ['sa-keys/promote']);
    expect(again.entries.filter((entry) => entry.kind === 'gate')).toHaveLength(3);
  });
});

describe('a world that cannot be rotated is refused with its host', () => {
  it.each([
    [
      'a bundle with a lost block',
      (w: ReturnType<typeof soundWorld>) =>
        withFile(
          w,
          'cp2',
          CERTIFICATE,
          file({
            verificationKeys: ['key of cp2'],
            certificate: { key: 'key of cp2' },
            problems: ['line 3: damaged'],
          }),
        ),
      /cp2: .*line 3: damaged/,
    ],
    [
      'a missing signing file',
      (w: ReturnType<typeof soundWorld>) => withFile(w, 'cp3', SIGNING, undefined),
      /cp3: .*sa.key.* does not exist/,
    ],
    [
      'a staged file that is no key',
      (w: ReturnType<typeof soundWorld>) => withFile(w, 'cp1', `${SIGNING}.certroll-next`, file({})),
      /cp1: .*certroll-next is not a private key/,
    ],
  ])('%s', (_name, spoil, message) => {
    expect(() => planSteps(spoil(soundWorld()), ROTATION)).toThrow(message);
  });
});
