import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readCredentials } from '../kubeconfig.js';
import { linkPrograms, writeKnownHosts, writeOperatorFile } from '../operator-files.js';
import { createLeaf, preparePki } from '../pki.js';
import { API_PORT, API_SERVER_NAME } from '../settings.js';
import type { NodePrograms } from './programs.js';
import { KUBEADM, MANIFESTS } from './settings.js';

const PKI_FOLDER = join(KUBEADM.dir, 'pki');
const { bastion } = KUBEADM;

const clusterFile =
  (): string => `# The lab's cluster, as its operator describes it. Paths are relative to this file.
name: lab
controlPlanes: { hosts: 'kubeadm[1001-1003].lab.example.net' }
nodes: { hosts: 'worker1001.lab.example.net' }
ssh: { config: ./ssh_config, user: certroll, sudo: true }
etcd:
  endpoints: [${KUBEADM.controlPlanes.map((host) => `https://${host.address}:2379`).join(', ')}]
  ca: ./etcd/ca.crt
  cert: ./etcd/client.crt
  key: ./etcd/client.key
lock: { name: apiserver-restart, ttl: 30s, wait: 2m }
api: { kubeconfig: ./kubeconfig, port: ${API_PORT}, serverName: ${API_SERVER_NAME} }
serviceAccounts: { mode: shared }
# haproxy asks each second and wants two good answers.
restart: { readyTimes: 2, settle: 3s }
services:
  apiserver: { staticPod: ${MANIFESTS}/kube-apiserver.yaml }
  controllerManager: { staticPod: ${MANIFESTS}/kube-controller-manager.yaml }
`;

/** kubeadm's own, but by the load balancer's address: this machine does not know its name. */
const writeKubeconfig = async (root: string): Promise<void> => {
  const admin = await readFile(join(root, 'etc/kubernetes/admin.conf'), 'utf8');
  const server = `server: https://${KUBEADM.loadBalancer.address}:${API_PORT}`;
  await writeOperatorFile(bastion.kubeconfig, admin.replace(/server: \S+/, server), 0o600);
  await writeOperatorFile(bastion.kubeCa, readCredentials(admin).ca);
};

/** A certificate of the operator's own from etcd's authority, which kubeadm keeps on the control planes. */
const writeEtcdClient = async (root: string): Promise<void> => {
  const folder = PKI_FOLDER;
  await preparePki(folder);
  for (const end of ['crt', 'key'])
    await copyFile(join(root, `etc/kubernetes/pki/etcd/ca.${end}`), join(folder, `etcd-ca.${end}`));
  const request = { ca: 'etcd-ca', name: 'bastion-etcd', commonName: 'lab-operator' } as const;
  const client = await createLeaf({ ...request, folder, usage: ['clientAuth'] });
  await writeOperatorFile(bastion.etcd.ca, await readFile(join(folder, 'etcd-ca.crt'), 'utf8'));
  await writeOperatorFile(bastion.etcd.cert, client.cert);
  await writeOperatorFile(bastion.etcd.key, client.key, 0o600);
};

/**
 * Writes what an operator has, from what kubeadm has left on a control plane. The folder with the key for SSH
 * is there already. `rootOf` gives the root of a host, by its name.
 */
export const completeBastion = async (
  programs: NodePrograms,
  rootOf: (name: string) => string,
): Promise<void> => {
  const root = rootOf(KUBEADM.controlPlanes[0]?.name ?? '');
  await writeKubeconfig(root);
  await writeEtcdClient(root);
  await writeOperatorFile(bastion.clusterFile, clusterFile());
  await linkPrograms(KUBEADM, programs);
  await writeKnownHosts(KUBEADM, rootOf);
};
