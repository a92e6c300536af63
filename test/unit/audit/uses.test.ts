import { describe, expect, it } from 'vitest';
import { COMPONENTS, CONFIG_KEYS, INPUTS, type Component } from '../../../src/audit/consumers.js';
import {
  configOf,
  kubeadmAt,
  portsOf,
  settingsOf,
  usesInKubeconfig,
  usesOf,
  type ComponentProcess,
} from '../../../src/audit/uses.js';

const processOf = (
  program: Component,
  argv: readonly string[],
  more: Partial<ComponentProcess> = {},
): ComponentProcess => ({
  ...{ program, pid: 7, startedAtMs: 0, argv: [program, ...argv], environment: new Map() },
  ...{ user: 'root', uid: 0, gid: 0, groups: [], root: '', cwd: '/', ...more },
});
const named = (process: ComponentProcess, config?: string): readonly string[] =>
  usesOf(process, settingsOf(process, config)).map(({ named: name, at }) => `${name} ${at}`);

describe('the table of inputs', () => {
  it('has a key for each flag that names one, and only flags that it knows for configurations', () => {
    for (const component of COMPONENTS) {
      const flags = new Set(INPUTS[component].map(({ flag }) => flag));
      expect(flags.size).toBe(INPUTS[component].length);
      for (const { key, kind, parser } of INPUTS[component]) {
        if (key !== undefined) expect(flags).toContain(key);
        expect(parser !== undefined).toBe(kind === 'authorities');
      }
      for (const flag of Object.values(CONFIG_KEYS[component]))
        expect(
          flags.has(flag) || /urls$|^(port|address|kubeconfig|pod-manifest-path)$/.test(flag),
          flag,
        ).toBe(true);
    }
  });

  it('has for each channel someone who shows and someone who checks', () => {
    const all = Object.values(INPUTS).flat();
    const shown = new Set(all.flatMap(({ presents }) => presents ?? []));
    const checked = new Set(all.flatMap(({ verifies }) => verifies ?? []));
    expect([...shown].sort()).toEqual([...checked].sort());
  });
});

describe('what a process uses', () => {
  it('is what its flags name, the last of those that count once, each of those that add up', () => {
    const process = processOf('kube-apiserver', [
      ...['--client-ca-file=/old', '--client-ca-file', '/ca', '--service-account-key-file=/a'],
      ...['--service-account-key-file=/b', '--tls-cert-file=/c', '--tls-private-key-file=/k', '--v=2'],
    ]);
    expect(named(process)).toEqual([
      '--tls-cert-file /c',
      '--tls-private-key-file /k',
      '--client-ca-file /ca',
      '--service-account-key-file /a',
      '--service-account-key-file /b',
    ]);
  });

  it('lies where the process sees it: in its container, and from its folder on', () => {
    const inside = { root: '/proc/7/root', cwd: '/run' };
    const process = processOf('etcd', ['--cert-file=pki/a.crt', '-key-file', '/k'], inside);
    expect(named(process)).toEqual(['--cert-file /proc/7/root/run/pki/a.crt', '--key-file /proc/7/root/k']);
  });

  it('is in the environment of etcd, unless a flag says otherwise', () => {
    const environment = new Map([
      ['ETCD_CERT_FILE', '/env.crt'],
      ['ETCD_TRUSTED_CA_FILE', '/env-ca.crt'],
    ]);
    expect(named(processOf('etcd', ['--cert-file=/flag.crt'], { environment }))).toEqual([
      '--cert-file /flag.crt',
      '--trusted-ca-file /env-ca.crt',
    ]);
  });

  it('is in the configuration of a kubelet, unless a flag says otherwise', () => {
    const process = processOf('kubelet', ['--config=/c.yaml', '--tls-cert-file=/flag.crt']);
    expect(configOf(process)).toBe('/c.yaml');
    const config =
      'tlsCertFile: "/x"\ntlsPrivateKeyFile: "/k"\nauthentication:\n  x509:\n    clientCAFile: "/ca"\nport: "10350"\n';
    expect(named(process, config)).toEqual([
      '--tls-cert-file /flag.crt',
      'tls-private-key-file in /c.yaml /k',
      'client-ca-file in /c.yaml /ca',
    ]);
    expect(portsOf(process, settingsOf(process, config))).toMatchObject([{ address: '127.0.0.1:10350' }]);
  });

  it('is the pair that a kubelet makes for itself where nothing names one', () => {
    expect(named(processOf('kubelet', []))).toEqual([
      'by default /var/lib/kubelet/pki/kubelet.crt',
      'by default /var/lib/kubelet/pki/kubelet.key',
    ]);
  });

  it('is what kubeadm lays down for people and for probes, as if read this moment', () => {
    const process = kubeadmAt(1000);
    expect(named(process)).toEqual([
      'by default /etc/kubernetes/admin.conf',
      'by default /etc/kubernetes/super-admin.conf',
      'by default /etc/kubernetes/pki/etcd/healthcheck-client.crt',
      'by default /etc/kubernetes/pki/etcd/healthcheck-client.key',
    ]);
    const [, , client] = usesOf(process, settingsOf(process));
    expect(client).toMatchObject({
      presents: 'etcd-client',
      keyAt: '/etc/kubernetes/pki/etcd/healthcheck-client.key',
    });
    expect(process.startedAtMs).toBe(1000);
  });

  it.each([
    [['--bind-address=0.0.0.0'], '127.0.0.1:10257'],
    [['--bind-address=::', '--secure-port=1'], '[::1]:1'],
    [['--bind-address=10.0.0.1'], '10.0.0.1:10257'],
    [['--secure-port=0'], undefined],
  ] as const)('%j: it serves at %s', (argv, address) => {
    const process = processOf('kube-controller-manager', argv);
    expect(portsOf(process, settingsOf(process))[0]?.address).toBe(address);
  });

  it('goes by the current context of a kubeconfig, paths from its folder on', () => {
    const process = processOf('kube-scheduler', ['--kubeconfig=/etc/k/s.conf']);
    const [use] = usesOf(process, settingsOf(process));
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const skeleton = `current-context: "here"
contexts:
- name: "elsewhere"
  context:
    cluster: "b"
- context:
    cluster: "a"
    user: "u"
  name: "here"
clusters:
- cluster:
    certificate-authority-data: "${base64('CA')}"
  name: "a"
users:
- name: "u"
  user:
    client-certificate: "s.crt"
    client-key-public: "${base64('KEY')}"
`;
    expect(usesInKubeconfig(process, use!, skeleton)).toMatchObject([
      { role: 'API authorities', reload: 'restart', embedded: { text: 'CA' }, at: '/etc/k/s.conf' },
      {
        role: 'API client certificate',
        reload: 'live',
        at: '/etc/k/s.crt',
        keyAt: '/etc/k/s.conf#client-key',
      },
      { role: 'API client key', kind: 'key', embedded: { text: '', publicKeyPem: 'KEY' } },
    ]);
    expect(usesInKubeconfig(process, use!, 'a: [')).toEqual([]);
  });
});
