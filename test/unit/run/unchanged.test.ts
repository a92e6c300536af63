import { describe, expect, it } from 'vitest';
import type { KeyBindings } from '../../../src/changes/change.js';
import type { SeenHost } from '../../../src/run/observe-host.js';
import { changesOnHost, checkUnchanged } from '../../../src/run/unchanged.js';
import {
  withFile,
  withRestart,
  type FileState,
  type HostState,
  type ServiceState,
  type World,
} from '../../../src/trust/world.js';
import { BUNDLE, CERTIFICATE, controlPlane, file, SIGNING, world } from '../../support/worlds.js';

/** Kids are the names themselves; `next` is a symbol that was bound to `new`. */
const keys: KeyBindings = {
  bind: () => undefined,
  resolve: (ref) => ({ kid: ref === 'next' ? 'new' : ref, publicKeyPem: '' }),
};

const seen = (state: HostState): SeenHost => ({
  state,
  facts: {
    clockOffsetMs: 0,
    hostname: state.name,
    files: new Map(),
    services: new Map(),
    freeBytes: new Map(),
    notShared: [],
  },
  sums: new Map(
    [SIGNING, CERTIFICATE, BUNDLE, `${SIGNING}.certroll-next`, `${BUNDLE}.certroll-previous`].map((path) => [
      path,
      '',
    ]),
  ),
  keyFiles: { privateKeys: [], publicFiles: [] },
  publicKeys: new Map(),
  tokenLife: undefined,
  notes: [],
});

const found = controlPlane('cp1', 'old', ['old']);
const start = world([found]);
const host = (of: World): HostState => of.hosts.get('cp1') as HostState;
const withKeys = (of: World, verificationKeys: readonly string[]): World =>
  withFile(of, 'cp1', BUNDLE, file({ verificationKeys }));
const withService = (of: HostState, change: (service: ServiceState) => ServiceState): HostState => ({
  ...of,
  services: new Map([...of.services].map(([name, service]) => [name, change(service)])),
});

describe('a host that is looked at again before a change of it', () => {
  it('is unchanged as it was found', () => {
    expect(changesOnHost([found], seen(found), keys)).toEqual([]);
  });

  it('is unchanged after what the run did, symbols as the kids they were bound to', () => {
    const predicted = withKeys(start, ['old', 'next']);
    const real = withKeys(start, ['new', 'old']);
    expect(changesOnHost([found, host(predicted)], seen(host(real)), keys)).toEqual([]);
  });

  it('is unchanged when a process crashed and loaded what its files held at any moment of the run', () => {
    const first = withKeys(start, ['old', 'next']);
    const then = withKeys(first, ['old', 'next', 'third']);
    const crashed = withRestart(withKeys(start, ['old', 'new']), 'cp1', 'kube-apiserver');
    const real = withKeys(crashed, ['old', 'new', 'third']);
    expect(changesOnHost([found, host(first), host(then)], seen(host(real)), keys)).toEqual([]);
    // Without the moment in between nobody can have loaded that.
    expect(changesOnHost([found, host(then)], seen(host(real)), keys)).toEqual([
      'what kube-apiserver has loaded',
    ]);
  });

  it.each<readonly [what: string, path: string, is: FileState | undefined]>([
    ['a key more', BUNDLE, file({ verificationKeys: ['old', 'theirs'] })],
    ['a key less', BUNDLE, file({ verificationKeys: [] })],
    ['another signing key', SIGNING, file({ signingKey: 'theirs', verificationKeys: ['theirs'] })],
    ['no signing key', SIGNING, file({ problems: ['no key'] })],
    ['no file', CERTIFICATE, undefined],
    ['a staged key that nobody planned', `${SIGNING}.certroll-next`, file({ signingKey: 'theirs' })],
  ])('is changed with %s', (_what, path, is) => {
    expect(changesOnHost([found], seen(host(withFile(start, 'cp1', path, is))), keys)).toEqual([path]);
  });

  it('is not judged by what a file was before', () => {
    const real = withFile(
      start,
      'cp1',
      `${BUNDLE}.certroll-previous`,
      file({ verificationKeys: ['theirs'] }),
    );
    expect(changesOnHost([found], seen(host(real)), keys)).toEqual([]);
  });

  it('is changed with other flags, with a service that is gone, and with keys loaded that no file held', () => {
    const flags = withService(found, (service) => ({ ...service, signingFile: '/other.key' }));
    expect(changesOnHost([found], seen(flags), keys)).toContain('the flags of kube-apiserver');
    expect(changesOnHost([found], seen({ ...found, services: new Map() }), keys)).toContain(
      'kube-apiserver, which does not run any more',
    );
    const loaded = withService(found, (service) => ({
      ...service,
      loaded: { ...service.loaded, signs: 'theirs' },
    }));
    expect(changesOnHost([found], seen(loaded), keys)).toContain('what kube-apiserver has loaded');
  });

  it('is changed with another manifest', () => {
    const manifest = (definition: string): HostState =>
      withService(found, (service) => ({ ...service, definition }));
    expect(changesOnHost([manifest('a')], seen(manifest('a')), keys)).toEqual([]);
    expect(changesOnHost([manifest('a')], seen(manifest('b')), keys)).toEqual([
      'the manifest of kube-apiserver',
      'the manifest of kube-controller-manager',
    ]);
  });

  it('is told by name, with what to do', () => {
    const real = seen(host(withKeys(start, ['old', 'theirs'])));
    expect(() => checkUnchanged([start], real, keys)).toThrow(
      expect.objectContaining({
        code: 'host.changed',
        host: 'cp1',
        message: `cp1: something else changed ${BUNDLE} while this run was going on`,
        hint: expect.stringContaining('Run again') as string,
      }),
    );
  });
});
