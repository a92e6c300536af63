import { join } from 'node:path';
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

  it('has its paths relative to itself, and ~ is the home folder', async () => {
    const before = process.env['HOME'];
    process.env['HOME'] = folder.path;
    try {
      const cluster = await load(
        good.replace('./kubeconfig', '~/kubeconfig').replace(":2379']", ":2379'], ca: key"),
      );
      expect(cluster.api.kubeconfig).toBe(join(folder.path, 'kubeconfig'));
      expect(cluster.etcd.ca).toBe(join(folder.path, 'key'));
      expect(cluster.baseDir).toBe(folder.path);
    } finally {
      process.env['HOME'] = before;
    }
  });

  it('lets a named command have the braces of a shell', async () => {
    const words = ['sh', '-c', "x=${HOME}; f() { kill {host}; }; awk '{ print $1 }'"];
    const cluster = await load(
      `${good}services: { apiserver: { command: { restart: ${JSON.stringify(words)}, pidFile: /run/pid } } }\n`,
    );
    expect(serviceSpec(cluster, 'cp1', 'kube-apiserver')).toMatchObject({
      restart: ['sh', '-c', "x=${HOME}; f() { kill cp1; }; awk '{ print $1 }'"],
    });
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

  it('names the manifests of static pods', async () => {
    const cluster = await load(
      `${good}services: { apiserver: { staticPod: /etc/kubernetes/manifests/kube-apiserver.yaml } }\n`,
    );
    expect(serviceSpec(cluster, 'cp1', 'kube-apiserver')).toEqual({
      kind: 'static-pod',
      manifest: '/etc/kubernetes/manifests/kube-apiserver.yaml',
      program: 'kube-apiserver',
    });
    // What is not said stays what it was.
    expect(serviceSpec(cluster, 'cp1', 'kube-controller-manager')).toMatchObject({ kind: 'systemd' });
  });

  it.each([
    [
      'a manifest that is no absolute path',
      `${good}services: { apiserver: { staticPod: manifests/kube-apiserver.yaml } }\n`,
      /cluster\.yaml:5:37: services\.apiserver\.staticPod: the absolute path of a manifest, such as/,
    ],
    [
      'a manifest that kubelet passes over',
      `${good}services: { apiserver: { staticPod: /etc/kubernetes/manifests/.kube-apiserver.yaml } }\n`,
      /kubelet passes over names that begin with a dot/,
    ],
    [
      'a slip in the kind of a service',
      `${good}services: { apiserver: { staticpod: /etc/kubernetes/manifests/kube-apiserver.yaml } }\n`,
      /unknown key 'staticpod' in services\.apiserver; did you mean 'staticPod'\?/,
    ],
    [
      'one manifest for both services',
      `${good}services: { apiserver: { staticPod: /m/a.yaml }, controllerManager: { staticPod: /m/a.yaml } }\n`,
      /cluster\.yaml:5:\d+: services\.controllerManager\.staticPod: \/m\/a\.yaml is the manifest of kube-apiserver/,
    ],
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
    [
      'a host expression with a gap',
      good.replace('[1001-1003]', '[1001-'),
      /cluster\.yaml:2:36: .*'\[' is never closed/,
    ],
    [
      'a host expression that names nobody',
      good.replace("'kubemaster[1001-1003].example.net'", "'a!a'"),
      /2:26: .*no host is left/,
    ],
    [
      'a file that is not there',
      good.replace('./kubeconfig', './nothing'),
      /cluster\.yaml:4:20: cannot read .*nothing: there is no such file/,
    ],
    [
      'a private key that others can read',
      good.replace(":2379']", ":2379'], key: ./open-key"),
      /cluster\.yaml:3:61: .*open-key holds a secret and others can read it \(mode 644\); chmod 600 .*open-key/,
    ],
    [
      'a duration without a unit',
      `${good}lock: { wait: 10 }\n`,
      /lock\.wait: a duration with its unit, such as 90s/,
    ],
    ['yes for true', `${good}ssh: { sudo: yes }\n`, /ssh\.sudo: write true or false, without quotes/],
    [
      'an endpoint without a scheme',
      good.replace('https://', ''),
      /etcd\.endpoints\.0: a URL with its scheme, such as https:\/\/etcd1\.example\.net:2379/,
    ],
    [
      'an unknown placeholder',
      `${good}services: { apiserver: { command: { restart: ['/srv/{hots}/ctl'], pidFile: /x } } }\n`,
      /cluster\.yaml:5:53: '\{hots\}' is not known here/,
    ],
    [
      'a host that is both a control plane and a node',
      `${good}nodes: { hosts: 'node[1-3],kubemaster1002.example.net' }\n`,
      /cluster\.yaml:5:17: kubemaster1002\.example\.net is a control plane already/,
    ],
    [
      'a host under two names',
      good.replace("'kubemaster[1001-1003].example.net'", "'cp1,cp2.example.net,cp1.example.net'"),
      /2:25: cp1 and cp1\.example\.net look like one host/,
    ],
    [
      'a node that is a control plane under its short name',
      `${good}nodes: { hosts: kubemaster1001 }\n`,
      /5:17: kubemaster1001\.example\.net and kubemaster1001 look like one host/,
    ],
    [
      'a wait that no timer can hold',
      `${good}lock: { wait: 99999999999999999999d }\n`,
      /5:15: lock\.wait: expected 0s to 1d/,
    ],
    [
      'a certificate without its key',
      good.replace(":2379']", ":2379'], cert: ./key"),
      /etcd\.cert needs etcd\.key/,
    ],
    [
      'a user without a password',
      good.replace(":2379']", ":2379'], user: x"),
      /etcd\.user needs etcd\.password/,
    ],
    [
      'a password file that others can read',
      good.replace(":2379']", ":2379'], user: x, password: { file: ./open-key }"),
      /3:83: .*open-key holds a secret/,
    ],
    [
      'a folder where a file should be',
      good.replace('./kubeconfig', '.'),
      /cluster\.yaml:4:20: cannot read .*: it is a folder/,
    ],
    [
      'a password in an address',
      good.replace('https://etcd1', 'https://root:hunter2@etcd1'),
      /3:21: etcd\.endpoints: no user in the address/,
    ],
    [
      'a path in an address',
      good.replace(":2379'", ":2379/v3'"),
      /3:21: etcd\.endpoints: no path in the address/,
    ],
    [
      'an address named twice',
      good.replace(":2379']", ":2379', 'https://etcd1.example.net:2379/']"),
      /named twice/,
    ],
    [
      'two ways to talk',
      good.replace(":2379']", ":2379', 'http://etcd2:2379']"),
      /http and https cannot be mixed/,
    ],
    [
      'a port for a host that is none',
      good.replace('./kubeconfig', './kubeconfig, ports: { kubemaster1004.example.net: 7443 }'),
      /4:43: api\.ports: 'kubemaster1004\.example\.net' is not a control plane; did you mean/,
    ],
    [
      'a unit that would read as an option',
      `${good}services: { apiserver: { systemd: --now } }\n`,
      /5:35: services\.apiserver\.systemd: the name of a unit/,
    ],
    [
      'a renewal that comes before the certificate',
      `${good}serviceAccounts: { ttl: 10d }\nissuer: { type: cfssl, url: 'https://pki' }\nthresholds: { renewBefore: 30d }\n`,
      /7:28: thresholds\.renewBefore \(30d\) must be shorter than serviceAccounts\.ttl \(10d\)/,
    ],
    [
      'a key in the place of its path',
      good.replace(":2379']", ':2379\'], key: "-----BEGIN PRIVATE KEY-----\\nMIIE"'),
      /3:61: etcd\.key: the path of a file, not what is in it/,
    ],
    ['an issuer of an unknown type', `${good}issuer: { type: vaul }\n`, /cluster\.yaml:5:/],
    [
      'a lease that is too short to keep',
      `${good}lock: { ttl: 1s }\n`,
      /cluster\.yaml:5:14: lock\.ttl: expected 5s to 10m/,
    ],
  ])('with %s is refused with line and column', async (_what, text, message) => {
    const error = await thrownBy(() => load(text));
    expect(error.message).toMatch(message);
    expect(error).toMatchObject({ exit: 2, code: 'cluster-file.invalid' });
  });

  it('tells all that is wrong with it at once, in the order of its lines', async () => {
    const text = `name: Prod
controlPlanes: { hosts: 'cp[1-' }
etcd: { endpoints: ['https://etcd1/v3'], ca: ./nothing, timeout: soon }
api: { port: 6443 }
lock: { ttl: 1s }
lok: 1
issuer: { type: cfssl, url: 'https://pki', cert: ./key }
`;
    const { message } = await thrownBy(() => load(text));
    const places = message.split('\n').flatMap((line) => /cluster\.yaml:(\d+:\d+: .*)/.exec(line)?.[1] ?? []);
    expect(places).toEqual([
      expect.stringMatching(/^1:7: name: lower-case letters/),
      expect.stringMatching(/^2:28: .*'\[' is never closed/),
      expect.stringMatching(/^3:21: etcd\.endpoints: no path in the address/),
      expect.stringMatching(/^3:46: cannot read .*nothing: there is no such file/),
      expect.stringMatching(/^3:66: etcd\.timeout: a duration/),
      expect.stringMatching(/^4:1: 'kubeconfig' is missing in api/),
      expect.stringMatching(/^5:14: lock\.ttl: expected 5s to 10m/),
      expect.stringMatching(/^6:1: unknown key 'lok'/),
      expect.stringMatching(/^7:44: issuer\.cert needs issuer\.key/),
    ]);
  });

  it('has nothing said of what is missing beside what cannot be read', async () => {
    const text = good.replace(":2379']", ":2379'], cert: 5, key: ./key");
    const { message } = await thrownBy(() => load(text));
    expect(message.match(/cluster\.yaml:/g)).toHaveLength(1);
    expect(message).toMatch(/3:\d+: etcd\.cert: expected string/);
  });

  it('never shows a password that is in it', async () => {
    const error = await thrownBy(() => load(good.replace('https://etcd1', 'https://root:hunter2@etcd1')));
    expect(error.message).not.toContain('hunter2');
  });

  it('that is not there is refused with its name', async () => {
    expect((await thrownBy(() => loadCluster('/nowhere/cluster.yaml'))).message).toContain(
      'cannot read /nowhere/cluster.yaml',
    );
  });
});
