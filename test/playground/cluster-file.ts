import { userInfo } from 'node:os';
import type { Ports } from './ports.js';
import { API_NAME, ETCD_NAME, HOST_NAMES, type Layout } from './settings.js';

/** The cluster as its operator describes it to certroll. */
export const clusterFile = (
  at: Layout,
  ports: Ports,
): string => `# A certroll playground. Paths are relative to this file.
name: playground
controlPlanes: { hosts: 'kubemaster[1001-1003].play.example.net' }
ssh:
  config: ./ssh_config
  user: '${userInfo().username}'
  identityFiles: [./id_ed25519]
  knownHosts: [./known_hosts]
  agent: false
  sudo: false
etcd:
  endpoints: ['https://127.0.0.1:${ports.etcd}']
  serverName: ${ETCD_NAME}
  ca: ./pki/etcd-ca.crt
  cert: ./pki/etcd-client.crt
  key: ./pki/etcd-client.key
lock: { ttl: 10s, wait: 30s }
api:
  kubeconfig: ./kubeconfig
  serverName: ${API_NAME}
  ports:
${HOST_NAMES.map((host) => `    ${host}: ${ports.api[host] ?? 0}`).join('\n')}
issuer: { type: local-ca, cert: ./pki/sa-ca.crt, key: ./pki/sa-ca.key }
services:
  apiserver:
    command:
      restart: ['${at.dir}/{host}/ctl', restart]
      pidFile: '${at.dir}/{host}/apiserver.pid'
  controllerManager: false
restart: { readyTimes: 2, settle: 1s }
`;

/** A kubeconfig for kubectl and certroll, with the certificate of a cluster admin. */
export const kubeconfig = (ports: Ports): string => `apiVersion: v1
kind: Config
current-context: playground
clusters:
  - name: playground
    cluster:
      server: https://127.0.0.1:${ports.api[HOST_NAMES[0]] ?? 0}
      certificate-authority: pki/ca.crt
      tls-server-name: ${API_NAME}
users:
  - name: admin
    user: { client-certificate: pki/admin.crt, client-key: pki/admin.key }
contexts:
  - name: playground
    context: { cluster: playground, user: admin }
`;
