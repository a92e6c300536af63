import type { Binaries } from './build/binaries.js';
import { CFSSL_URL } from './cfssl.js';
import { kubeconfig } from './kubeconfig.js';
import { createLeaf, readPair } from './pki.js';
import { createSshFiles, linkPrograms, writeOperatorFile as write } from './operator-files.js';
import {
  API_PORT,
  API_SERVER_NAME,
  BASTION,
  CFSSL_LABEL,
  CONTROL_PLANES,
  LOAD_BALANCER,
  SYSTEMD,
} from './settings.js';

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
  await createSshFiles(SYSTEMD);
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
  await linkPrograms(SYSTEMD, binaries);
};
