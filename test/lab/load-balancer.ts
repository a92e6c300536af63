import { randomBytes } from 'node:crypto';
import { keyFile, type HostFile } from './files.js';
import { HAPROXY_UNIT, haproxyFiles } from './haproxy.js';
import { createLeaf, readPair } from './pki.js';
import { API_NAME, CFSSL_LABEL, CFSSL_PORT, LOAD_BALANCER, NETWORK, SYSTEMD } from './settings.js';

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
    ...haproxyFiles(SYSTEMD, kubeCa.cert),
    { path: '/etc/cfssl/roots.conf', content: MULTIROOTCA_ROOTS },
    { path: '/etc/cfssl/service-accounts.json', content: signingConfig() },
    { path: '/etc/cfssl/service-accounts-ca.crt', content: saCa.cert },
    keyFile('/etc/cfssl/service-accounts-ca.key', saCa.key, 'cfssl'),
    keyFile('/etc/cfssl/auth-key', authKey, 'cfssl'),
    { path: '/etc/cfssl/server.crt', content: server.cert },
    keyFile('/etc/cfssl/server.key', server.key, 'cfssl'),
    { path: '/etc/systemd/system/multirootca.service', content: MULTIROOTCA_UNIT },
  ];
};

export const LOAD_BALANCER_UNITS = [HAPROXY_UNIT, 'multirootca.service'] as const;
