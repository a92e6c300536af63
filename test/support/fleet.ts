import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { expandHosts } from '../../src/hosts/expression.js';
import { TestPki, type TestCert } from './pki.js';
import { InetdSshd } from './sshd-inetd.js';
import { TestSshd } from './sshd.js';

export interface FleetOptions {
  /** Lines of sshd_config. */
  readonly config?: readonly string[];
  readonly size: number;
  /** How many of them, the first, are control planes: a stand-in is found by its pid file there. The rest are nodes. */
  readonly controlPlanes: number;
}

const SUBNET = '127.77';
/** So many hosts in one subnet of loopback. */
const PER_SUBNET = 250;

/** Hosts FIRST to LAST, counted from 0, as an expression that ClusterShell and cumin read too. */
const expressionOf = (first: number, last: number): string => {
  const parts: string[] = [];
  for (let from = first; from <= last;) {
    const subnet = Math.floor(from / PER_SUBNET);
    const to = Math.min(last, (subnet + 1) * PER_SUBNET - 1);
    parts.push(`${SUBNET}.${subnet}.[${(from % PER_SUBNET) + 1}-${(to % PER_SUBNET) + 1}]`);
    from = to + 1;
  }
  return parts.join(',');
};

/** It ends with whoever started it: then its standard input does. */
const STAND_IN = `#!/bin/sh
# A stand-in: it has some flags of the program that it is named after, and does nothing.
read -r _
`;

/**
 * Many hosts that are one machine: a real sshd that answers on many addresses of loopback, one process a connection, and **stand-ins** for a
 * kube-apiserver and a kubelet, with flags that name files. All hosts show the same processes and files.
 */
export class LoopbackFleet {
  readonly hosts: readonly string[];
  readonly sshd: TestSshd;
  readonly pki: TestPki;
  /** The certificates that the stand-ins' flags name. */
  readonly certificates: readonly string[];
  readonly #inetd: InetdSshd;
  readonly #controlPlanes: number;
  readonly #standIns: readonly ChildProcess[];

  private constructor(
    { size, controlPlanes }: FleetOptions,
    parts: Pick<LoopbackFleet, 'sshd' | 'pki' | 'certificates'> & { readonly inetd: InetdSshd },
    standIns: readonly ChildProcess[],
  ) {
    this.hosts = expandHosts(expressionOf(0, size - 1));
    this.sshd = parts.sshd;
    this.#inetd = parts.inetd;
    this.pki = parts.pki;
    this.certificates = parts.certificates;
    this.#controlPlanes = controlPlanes;
    this.#standIns = standIns;
  }

  static async start(options: FleetOptions): Promise<LoopbackFleet> {
    const { size, controlPlanes, config = [] } = options;
    // What a developer's own shell does at its start is no part of a host.
    const sshd = await TestSshd.start({ config: [...config, 'SetEnv HOME=/nonexistent'] });
    const inetd = await InetdSshd.start(sshd.dir, expandHosts(expressionOf(0, size - 1)), sshd.port);
    const pki = await TestPki.create();
    const ca = await pki.certificate('ca', { ca: true });
    const leaf = await pki.certificate('leaf', { issuer: ca });
    const apiserver = await standIn(pki, 'stand-in-for-kube-apiserver', ['--secure-port=0'], leaf, ca);
    await writeFile(pki.path('apiserver.pid'), `${apiserver.pid ?? 0}\n`);
    const kubelet = size > controlPlanes ? [await standIn(pki, 'kubelet', ['--port=0'], leaf, ca)] : [];
    const parts = { sshd, inetd, pki, certificates: [leaf.certFile, ca.certFile] };
    const fleet = new LoopbackFleet(options, parts, [apiserver, ...kubelet]);
    await fleet.#writeClientFiles(leaf);
    return fleet;
  }

  /** What sshd has logged, on all addresses. */
  log(): Promise<readonly string[]> {
    return this.#inetd.log();
  }

  /** A file in the folder of its client. */
  path(name: string): string {
    return join(this.sshd.dir, name);
  }

  /** Its first hosts, as an expression. */
  expression(size: number): string {
    return expressionOf(0, size - 1);
  }

  /** Writes a cluster file of its first hosts; gives its path. */
  async clusterFile(size: number, connectTimeout = '30s'): Promise<string> {
    const controlPlanes = Math.min(this.#controlPlanes, size);
    const nodes = size > controlPlanes ? `nodes: { hosts: '${expressionOf(controlPlanes, size - 1)}' }` : '';
    return this.sshd.file(
      `cluster-${size}.yaml`,
      `name: fleet
controlPlanes: { hosts: '${this.expression(controlPlanes)}' }
${nodes}
ssh: { config: ./ssh_config, agent: false, sudo: false, connectTimeout: ${connectTimeout} }
etcd: { endpoints: ['https://127.0.0.1:1'] }
api: { kubeconfig: ./kubeconfig, port: 1, timeout: 2s }
services:
  apiserver: { command: { restart: ['false'], pidFile: '${this.pki.path('apiserver.pid')}' } }
  controllerManager: false
`,
    );
  }

  async stop(): Promise<void> {
    for (const child of this.#standIns) {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    await this.#inetd.stop();
    await this.sshd.stop();
    await this.pki.remove();
  }

  /** What an ssh client needs, OpenSSH's own too: of known_hosts a line for each host, as a fleet has them. */
  async #writeClientFiles({ certFile, keyFile }: TestCert): Promise<void> {
    const key = await readFile(this.path('host_ed25519.pub'), 'utf8');
    const known = this.hosts.map((host) => `[${host}]:${this.sshd.port} ${key}`);
    await writeFile(this.path('known_hosts'), known.join(''));
    await chmod(this.path('user'), 0o600);
    const options = [
      ...[`Port ${this.sshd.port}`, `User ${userInfo().username}`, `IdentityFile ${this.path('user')}`],
      ...['IdentitiesOnly yes', 'IdentityAgent none', 'StrictHostKeyChecking yes'],
      ...[`UserKnownHostsFile ${this.path('known_hosts')}`, 'GlobalKnownHostsFile /dev/null'],
    ];
    await appendFile(this.path('ssh_config'), `Host ${SUBNET}.*\n  ${options.join('\n  ')}\n`);
    await writeFile(
      this.path('kubeconfig'),
      `current-context: c
clusters: [{ name: c, cluster: { server: 'https://127.0.0.1:1', certificate-authority: '${certFile}' } }]
contexts: [{ name: c, context: { cluster: c, user: u } }]
users: [{ name: u, user: { client-certificate: '${certFile}', client-key: '${keyFile}' } }]
`,
    );
  }
}

const standIn = async (
  pki: TestPki,
  name: string,
  flags: readonly string[],
  leaf: TestCert,
  ca: TestCert,
): Promise<ChildProcess> => {
  const folder = pki.path('stand-ins');
  await mkdir(folder, { recursive: true });
  const path = join(folder, name);
  await writeFile(path, STAND_IN, { mode: 0o755 });
  const files = [`--tls-cert-file=${leaf.certFile}`, `--tls-private-key-file=${leaf.keyFile}`];
  const child = spawn(path, [...files, `--client-ca-file=${ca.certFile}`, ...flags], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  await once(child, 'spawn');
  return child;
};
