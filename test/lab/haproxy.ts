import { get } from 'node:http';
import type { HostFile } from './files.js';
import { API_PORT, API_SERVER_NAME, STATS_PORT } from './settings.js';
import type { Topology } from './topology.js';

/**
 * haproxy passes TCP through and looks at /readyz over TLS. A server marked down keeps its connections (the
 * default for on-marked-down): an apiserver that shuts down goes on answering on them and ends them itself,
 * one by one, while a proxy that cut them would lose the requests that are on the way. Connections to a
 * host that is gone without a word end by tcp-ut.
 */
const haproxyConfig = (lab: Topology): string => `global
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
  bind ${lab.loadBalancer.address}:${API_PORT}
  default_backend apiservers

frontend stats
  mode http
  bind ${lab.loadBalancer.address}:${STATS_PORT}
  stats enable
  stats uri /stats

backend apiservers
  option httpchk GET /readyz
  http-check expect status 200
  default-server inter 500ms fastinter 200ms downinter 500ms fall 2 rise 2 tcp-ut 10s
  default-server check check-ssl check-sni ${API_SERVER_NAME} verify required verifyhost ${API_SERVER_NAME} ca-file /etc/haproxy/kube-ca.crt
${lab.controlPlanes.map((host) => `  server ${host.name} ${host.address}:${API_PORT}`).join('\n')}
`;

/** Files of a load balancer. `kubeCa` is the authority (PEM) of the apiservers' serving certificates. */
export const haproxyFiles = (lab: Topology, kubeCa: string): HostFile[] => [
  { path: '/etc/haproxy/haproxy.cfg', content: haproxyConfig(lab) },
  { path: '/etc/haproxy/kube-ca.crt', content: kubeCa },
  // haproxy binds the lab's address, which the host has only after this unit.
  {
    path: '/etc/systemd/system/haproxy.service.d/lab.conf',
    content: '[Unit]\nAfter=lab-address.service\nStartLimitIntervalSec=0\n',
  },
];

export const HAPROXY_UNIT = 'haproxy.service';

const getText = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const outgoing = get(url, { timeout: 2000, agent: false }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      incoming.on('end', () => resolve(text));
    });
    outgoing.on('error', reject).on('timeout', () => outgoing.destroy(new Error(`${url} does not answer`)));
  });

/** What a lab's haproxy thinks of its servers: host name → `UP`, `DOWN`, `UP 1/2` and such. */
export const haproxyStates = async (lab: Topology): Promise<ReadonlyMap<string, string>> => {
  const [header = '', ...rows] = (
    await getText(`http://${lab.loadBalancer.address}:${STATS_PORT}/stats;csv`)
  ).split('\n');
  const columns = header.replace(/^# /, '').split(',');
  const [name, status] = [columns.indexOf('svname'), columns.indexOf('status')];
  const servers = rows
    .map((row) => row.split(','))
    .filter((row) => row[0] === 'apiservers' && row[name] !== 'BACKEND');
  return new Map(servers.map((row) => [row[name] ?? '', row[status] ?? '']));
};
