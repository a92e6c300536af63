import { randomBytes } from 'node:crypto';
import { keyFile, type HostFile } from './files.js';
import { createLeaf, readPair } from './pki.js';
import {
  API_NAME,
  API_PORT,
  API_SERVER_NAME,
  CFSSL_LABEL,
  CFSSL_PORT,
  CONTROL_PLANES,
  LOAD_BALANCER,
  NETWORK,
  STATS_PORT,
} from './settings.js';

/**
 * haproxy passes TCP through and looks at /readyz over TLS. A server marked down keeps its connections (the
 * default for on-marked-down): an apiserver that shuts down goes on answering on them and ends them itself,
 * one by one, while a proxy that cut them would lose the requests that are on the way. Connections to a
 * host that is gone without a word end by tcp-ut.
 */
const haproxyConfig = (): string => `global
  log stdout format raw local0 notice
  maxconn 4096
  user haproxy
  group haproxy
  stats socket /run/haproxy/admin.sock mode 660 level admin

defaults
  mode tcp
  log global
  balance roundrobin
  option redispatch
  retries 3
  timeout connect 2s
  timeout check 2s
  timeout client 10m
  timeout server 10m
  timeout http-request 10s

frontend api-int
  bind ${LOAD_BALANCER.address}:${API_PORT}
  default_backend apiservers

frontend stats
  mode http
  bind ${LOAD_BALANCER.address}:${STATS_PORT}
  stats enable
  stats uri /stats

backend apiservers
  option httpchk GET /readyz
  http-check expect status 200
  default-server inter 500ms fastinter 200ms downinter 500ms fall 2 rise 2 tcp-ut 10s
  default-server check check-ssl check-sni ${API_SERVER_NAME} verify required verifyhost ${API_SERVER_NAME} ca-file /etc/haproxy/kube-ca.crt
${CONTROL_PLANES.map((host) => `  server ${host.name} ${host.address}:${API_PORT}`).join('\n')}
`;

const MULTIROOTCA_ROOTS = `[${CFSSL_LABEL}]
private = file:///etc/cfssl/service-accounts-ca.key
certificate = /etc/cfssl/service-accounts-ca.crt
config = /etc/cfssl/service-accounts.json
nets = ${NETWORK.subnet}
`;

/** Signs only what is authenticated with the key; "short" is for tests of what expires soon. */
const signingConfig = (): string => {
  const profile = { auth_key: 'certroll', usages: ['digital signature'] };
  return JSON.stringify(
    {
      signing: {
        default: { ...profile, expiry: '8760h' },
        profiles: { short: { ...profile, expiry: '1h' } },
      },
      auth_keys: { certroll: { type: 'standard', key: 'file:/etc/cfssl/auth-key' } },
    },
    null,
    2,
  );
};

const MULTIROOTCA_UNIT = `[Unit]
Description=cfssl: issues the certificates of service-account signing keys
After=lab-address.service
StartLimitIntervalSec=0
[Service]
User=cfssl
Group=cfssl
ExecStart=/usr/bin/multirootca -a ${LOAD_BALANCER.address}:${CFSSL_PORT} -l ${CFSSL_LABEL} -roots /etc/cfssl/roots.conf -tls-cert /etc/cfssl/server.crt -tls-key /etc/cfssl/server.key
Restart=always
RestartSec=1
[Install]
WantedBy=multi-user.target
`;

/** A lab's own key with which requests to cfssl are authenticated, in hex as cfssl wants it. */
export const createAuthKey = (): string => randomBytes(16).toString('hex');

/** Every file of the load balancer's host, the PKI server included. */
export const loadBalancerFiles = async (authKey: string): Promise<HostFile[]> => {
  const [kubeCa, saCa] = await Promise.all([readPair('kube-ca'), readPair('service-accounts-ca')]);
  const server = await createLeaf({
    ...{ ca: 'tls-ca', name: 'cfssl-server', commonName: LOAD_BALANCER.fqdn, usage: ['serverAuth'] },
    sans: [LOAD_BALANCER.fqdn, LOAD_BALANCER.name, API_NAME, LOAD_BALANCER.address],
  });
  return [
    { path: '/etc/haproxy/haproxy.cfg', content: haproxyConfig() },
    { path: '/etc/haproxy/kube-ca.crt', content: kubeCa.cert },
    { path: '/etc/cfssl/roots.conf', content: MULTIROOTCA_ROOTS },
    { path: '/etc/cfssl/service-accounts.json', content: signingConfig() },
    { path: '/etc/cfssl/service-accounts-ca.crt', content: saCa.cert },
    keyFile('/etc/cfssl/service-accounts-ca.key', saCa.key, 'cfssl'),
    keyFile('/etc/cfssl/auth-key', authKey, 'cfssl'),
    { path: '/etc/cfssl/server.crt', content: server.cert },
    keyFile('/etc/cfssl/server.key', server.key, 'cfssl'),
    { path: '/etc/systemd/system/multirootca.service', content: MULTIROOTCA_UNIT },
    // haproxy binds the lab's address, which the host has only after this unit.
    {
      path: '/etc/systemd/system/haproxy.service.d/lab.conf',
      content: '[Unit]\nAfter=lab-address.service\nStartLimitIntervalSec=0\n',
    },
  ];
};

export const LOAD_BALANCER_UNITS = ['haproxy.service', 'multirootca.service'] as const;
