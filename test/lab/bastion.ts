import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { BASTION } from './bastion-paths.js';
import type { Binaries } from './build/binaries.js';
import { CFSSL_URL } from './cfssl.js';
import { kubeconfig } from './kubeconfig.js';
import { createLeaf, readPair } from './pki.js';
import {
  ALL_HOSTS,
  API_PORT,
  API_SERVER_NAME,
  CFSSL_LABEL,
  CONTROL_PLANES,
  LOAD_BALANCER,
} from './settings.js';
import { run } from './shell.js';

const write = async (path: string, content: string, mode = 0o644): Promise<void> => {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, content, { mode });
};

const sshConfig = (): string =>
  [
    ...ALL_HOSTS.map(
      (host) => `Host ${host.fqdn} ${host.name}\n  HostName ${host.address}\n  HostKeyAlias ${host.fqdn}\n`,
    ),
    'Host *',
    '  User certroll',
    `  IdentityFile ${BASTION.identity}`,
    '  IdentitiesOnly yes',
    `  UserKnownHostsFile ${BASTION.knownHosts}`,
    '  GlobalKnownHostsFile /dev/null',
    '  StrictHostKeyChecking yes',
    '',
  ].join('\n');

const clusterFile =
  (): string => `# The lab's cluster, as its operator describes it. Paths are relative to this file.
name: lab
controlPlanes: { hosts: 'kubemaster[1001-1003].lab.example.net' }
ssh: { config: ./ssh_config, user: certroll, sudo: true }
etcd:
  endpoints: [${CONTROL_PLANES.map((host) => `https://${host.address}:2379`).join(', ')}]
  ca: ./etcd/ca.crt
  cert: ./etcd/client.crt
  key: ./etcd/client.key
lock: { name: apiserver-restart, ttl: 30s, wait: 2m }
api: { kubeconfig: ./kubeconfig, port: ${API_PORT}, serverName: ${API_SERVER_NAME} }
serviceAccounts: { mode: per-host }
issuer: { type: cfssl, url: '${CFSSL_URL}', ca: ./cfssl/tls-ca.crt, authKey: { file: ./cfssl/auth-key }, label: ${CFSSL_LABEL} }
# haproxy asks each second and wants two good answers.
restart: { readyTimes: 2, settle: 3s }
services:
  apiserver: { systemd: kube-apiserver.service }
  controllerManager: { systemd: kube-controller-manager.service }
`;

/** Writes all of the bastion folder but known_hosts, which needs the hosts' own keys. Needs the PKI. */
export const createBastion = async (binaries: Binaries, authKey: string): Promise<void> => {
  const [kubeCa, etcdCa, tlsCa, saCa, admin, etcdClient] = await Promise.all([
    readPair('kube-ca'),
    readPair('etcd-ca'),
    readPair('tls-ca'),
    readPair('service-accounts-ca'),
    createLeaf({
      ca: 'kube-ca',
      name: 'bastion-admin',
      commonName: 'lab-operator',
      organization: 'system:masters',
      usage: ['clientAuth'],
    }),
    createLeaf({ ca: 'etcd-ca', name: 'bastion-etcd', commonName: 'lab-operator', usage: ['clientAuth'] }),
  ]);
  await mkdir(BASTION.bin, { recursive: true });
  await run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'lab-operator', '-f', BASTION.identity]);
  await write(BASTION.sshConfig, sshConfig());
  await write(BASTION.kubeCa, kubeCa.cert);
  await write(
    BASTION.kubeconfig,
    kubeconfig(`https://${LOAD_BALANCER.address}:${API_PORT}`, kubeCa.cert, admin),
    0o600,
  );
  await write(BASTION.etcd.ca, etcdCa.cert);
  await write(BASTION.etcd.cert, etcdClient.cert);
  await write(BASTION.etcd.key, etcdClient.key, 0o600);
  await write(BASTION.cfssl.ca, tlsCa.cert);
  await write(BASTION.cfssl.rootCa, saCa.cert);
  await write(BASTION.cfssl.authKey, `${authKey}\n`, 0o600);
  await write(BASTION.cfssl.url, `${CFSSL_URL}\n`);
  await write(BASTION.clusterFile, clusterFile());
  for (const program of ['kubectl', 'etcdctl'] as const) {
    await rm(join(BASTION.bin, program), { force: true });
    await symlink(binaries[program], join(BASTION.bin, program));
  }
};

/** Notes the hosts' public keys, read from their disks: nothing is trusted on first use. */
export const writeKnownHosts = async (rootOf: (name: string) => string): Promise<void> => {
  const lines: string[] = [];
  for (const host of ALL_HOSTS) {
    for (const type of ['ed25519', 'ecdsa', 'rsa']) {
      const text = await readFile(join(rootOf(host.name), `/etc/ssh/ssh_host_${type}_key.pub`), 'utf8');
      const [algorithm = '', key = ''] = text.split(' ');
      lines.push(`${host.fqdn},${host.address} ${algorithm} ${key}`);
    }
  }
  await write(BASTION.knownHosts, `${lines.join('\n')}\n`);
};
