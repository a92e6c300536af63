import { describe, expect, it } from 'vitest';
import { loadCluster, serviceSpec } from '../../../src/cluster/load.js';
import { tempFolder, thrownBy } from '../../support/temp.js';

const folder = tempFolder();
folder.write('kubeconfig', '', 0o600);
folder.write('key', '', 0o600);
folder.write('open-key', '', 0o644);

const good = `name: prod
controlPlanes: { hosts: 'kubemaster[1001-1003].example.net' }
etcd: { endpoints: ['https://etcd1.example.net:2379'] }
api: { kubeconfig: ./kubeconfig }
`;
const load = async (text: string) => loadCluster(folder.write('cluster.yaml', text));

describe('a cluster file', () => {
  it('of four lines is enough; the rest has defaults', async () => {
    const cluster = await load(good);
    expect(cluster.hosts.controlPlanes).toEqual([
      'kubemaster1001.example.net',
      'kubemaster1002.example.net',
      'kubemaster1003.example.net',
    ]);
    expect(cluster.lock).toEqual({ name: 'apiserver-restart', ttl: '30s', wait: '10m' });
    expect(serviceSpec(cluster, 'kubemaster1001.example.net', 'kube-apiserver')).toEqual({
      kind: 'systemd',
      unit: 'kube-apiserver.service',
    });
  });

  it('may be JSON', async () => {
    const text = JSON.stringify({
      name: 'p',
      controlPlanes: { hosts: 'a' },
      etcd: { endpoints: ['http://a:1'] },
      api: { kubeconfig: './kubeconfig' },
    });
    expect((await load(text)).name).toBe('p');
  });

  it('fills the name of the host into the words of a named command', async () => {
    const cluster = await load(
      `${good}services: { apiserver: { command: { restart: ['/srv/{host}/ctl', restart], pidFile: '/srv/{host}/pid' } }, controllerManager: false }\n`,
    );
    expect(serviceSpec(cluster, 'cp1', 'kube-apiserver')).toEqual({
      kind: 'command',
      restart: ['/srv/cp1/ctl', 'restart'],
      pidFile: '/srv/cp1/pid',
    });
    expect(serviceSpec(cluster, 'cp1', 'kube-controller-manager')).toBeUndefined();
  });

  it.each([
    [
      'an unknown key',
      `${good}lok: { name: x }\n`,
      /cluster\.yaml:5:1: unknown key 'lok'; did you mean 'lock'\?/,
    ],
    [
      'an unknown key further in',
      good.replace('./kubeconfig', './kubeconfig, prot: 1'),
      /cluster\.yaml:4:34: unknown key 'prot' in api; did you mean 'port'\?/,
    ],
    ['a missing key', good.replace(/^api.*$/m, ''), /'api' is missing/],
    [
      'a wrong type',
      good.replace('./kubeconfig', './kubeconfig, port: high'),
      /cluster\.yaml:4:40: api\.port: expected number/,
    ],
    ['a host expression with a gap', good.replace('[1001-1003]', '[1001-'), /cluster\.yaml:2:25:/],
    [
      'a host expression that names nobody',
      good.replace("'kubemaster[1001-1003].example.net'", "'a!a'"),
      /2:25: .*no host is left/,
    ],
    [
      'a file that is not there',
      good.replace('./kubeconfig', './nothing'),
      /cluster\.yaml:4:20: cannot read .*nothing: there is no such file/,
    ],
    [
      'a private key that others can read',
      good.replace(":2379']", ":2379'], key: ./open-key"),
      /cluster\.yaml:3:61: the private key .*open-key can be read by others \(mode 644\); chmod 600/,
    ],
    ['a duration without a unit', `${good}lock: { wait: 10 }\n`, /lock\.wait/],
    [
      'an unknown placeholder',
      `${good}services: { apiserver: { command: { restart: ['/srv/{hots}/ctl'], pidFile: /x } } }\n`,
      /'\{hots\}' is not known here/,
    ],
    ['an issuer of an unknown type', `${good}issuer: { type: vaul }\n`, /cluster\.yaml:5:/],
    [
      'a lease that is too short to keep',
      `${good}lock: { ttl: 1s }\n`,
      /cluster\.yaml:5:14: a lock of less than 5s/,
    ],
  ])('with %s is refused with line and column', async (_what, text, message) => {
    const error = await thrownBy(() => load(text));
    expect(error.message).toMatch(message);
    expect(error).toMatchObject({ exit: 2, code: 'cluster-file.invalid' });
  });

  it('that is not there is refused with its name', async () => {
    expect((await thrownBy(() => loadCluster('/nowhere/cluster.yaml'))).message).toContain(
      'cannot read /nowhere/cluster.yaml',
    );
  });
});
