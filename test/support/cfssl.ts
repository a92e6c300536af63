import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clusterFileSchema, type ClusterFile } from '../../src/cluster/schema.js';
import type { TestCert } from './pki.js';
import { freePort } from './ports.js';

export type CfsslSettings = Extract<ClusterFile['issuer'], { type: 'cfssl' }>;

/** The part of the cluster file for a cfssl server. */
export const cfsslSettings = (settings: Omit<CfsslSettings, 'type'>): CfsslSettings =>
  clusterFileSchema.shape.issuer.parse({ type: 'cfssl', ...settings }) as CfsslSettings;

export const AUTH_KEY = '00112233445566778899aabbccddeeff';
/** The label under which multirootca knows its CA. (1.2.0 takes no dash in one.) */
export const LABEL = 'service_accounts';

/** Profiles of the test servers; those without a key sign whatever comes. */
const CONFIG = {
  signing: {
    default: { expiry: '2160h', usages: ['digital signature'], auth_key: 'test' },
    profiles: {
      short: { expiry: '240h', usages: ['digital signature'], auth_key: 'test' },
      long: { expiry: '87600h', usages: ['digital signature'], auth_key: 'test' },
      encipher: { expiry: '2160h', usages: ['key encipherment'], auth_key: 'test' },
      open: { expiry: '2160h', usages: ['digital signature'] },
    },
  },
  auth_keys: { test: { type: 'standard', key: AUTH_KEY } },
};

export interface TestCfsslOptions {
  readonly ca: TestCert;
  /** For the server's own TLS. */
  readonly server: TestCert;
  /** CA of client certificates, which are then asked for (`cfssl serve` only). */
  readonly clientCa?: TestCert;
}

/** A real cfssl server on loopback, with TLS. */
export class TestCfssl {
  readonly url: string;
  readonly #dir: string;
  readonly #process: ChildProcess;

  private constructor(url: string, dir: string, process: ChildProcess) {
    this.url = url;
    this.#dir = dir;
    this.#process = process;
  }

  static async start(program: 'cfssl' | 'multirootca', options: TestCfsslOptions): Promise<TestCfssl> {
    const path = `/usr/bin/${program}`;
    await access(path).catch(() => {
      throw new Error(`${path} is missing: apt-get install golang-cfssl`);
    });
    const dir = await mkdtemp(join(tmpdir(), 'certroll-cfssl-'));
    const config = join(dir, 'config.json');
    await writeFile(config, JSON.stringify(CONFIG));
    const port = await freePort();
    const args =
      program === 'cfssl' ? serveArgs(port, config, options) : await rootArgs(port, dir, config, options);
    const child = spawn(path, args, { stdio: 'ignore' });
    while (!(await listens(port)))
      if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
    return new TestCfssl(`https://localhost:${port}`, dir, child);
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null) {
      this.#process.kill('SIGKILL');
      await once(this.#process, 'exit');
    }
    await rm(this.#dir, { recursive: true, force: true });
  }
}

const serveArgs = (
  port: number,
  config: string,
  { ca, server, clientCa }: TestCfsslOptions,
): readonly string[] => [
  ...['serve', '-address=127.0.0.1', `-port=${port}`, `-config=${config}`],
  ...[`-ca=${ca.certFile}`, `-ca-key=${ca.keyFile}`],
  ...[`-tls-cert=${server.certFile}`, `-tls-key=${server.keyFile}`],
  ...(clientCa ? [`-mutual-tls-ca=${clientCa.certFile}`] : []),
];

const rootArgs = async (
  port: number,
  dir: string,
  config: string,
  { ca, server }: TestCfsslOptions,
): Promise<readonly string[]> => {
  const roots = join(dir, 'roots.ini');
  const lines = [`[ ${LABEL} ]`, `private = file://${ca.keyFile}`, `certificate = ${ca.certFile}`];
  await writeFile(roots, [...lines, `config = ${config}`, ''].join('\n'));
  const tls = ['-tls-cert', server.certFile, '-tls-key', server.keyFile];
  return ['-a', `127.0.0.1:${port}`, '-roots', roots, '-l', LABEL, ...tls];
};

const listens = async (port: number): Promise<boolean> => {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
};

/** What a lying PKI does with a request: gives a body, says nothing, breaks the connection, or gives 50 MB. */
export type Lie =
  string | { readonly status: number; readonly body: string } | { readonly does: 'hang' | 'reset' | 'flood' };

/**
 * A stand-in for a PKI that lies, as no real one can be made to: it says `info` and `sign` as it is told, over TLS.
 * Everything that a PKI does rightly is tested against the real cfssl.
 */
export class LyingPki {
  readonly url: string;
  readonly #server: Server;
  /** How many requests came for each endpoint. */
  readonly asked = new Map<string, number>();

  private constructor(server: Server) {
    this.#server = server;
    this.url = `https://localhost:${(server.address() as AddressInfo).port}`;
  }

  static async start(tls: TestCert, lies: Readonly<Record<string, () => Lie>>): Promise<LyingPki> {
    const server = createServer({ cert: tls.pem, key: tls.key });
    server.listen(0, 'localhost');
    await once(server, 'listening');
    const pki = new LyingPki(server);
    server.on('request', (request, response) => {
      const endpoint = request.url?.split('/').at(-1) ?? '';
      pki.asked.set(endpoint, (pki.asked.get(endpoint) ?? 0) + 1);
      request.resume();
      const lie = lies[endpoint]?.() ?? { status: 404, body: '' };
      if (typeof lie === 'string') response.end(lie);
      else if ('status' in lie) response.writeHead(lie.status).end(lie.body);
      else if (lie.does === 'reset') request.socket.destroy();
      else if (lie.does === 'flood') {
        const chunk = Buffer.alloc(1024 * 1024, 'A');
        for (let sent = 0; sent < 50; sent += 1) response.write(chunk);
        response.end();
      }
    });
    return pki;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** What cfssl answers when it gives a certificate. */
export const certificateAnswer = (pem: string, more: object = {}): string =>
  JSON.stringify({ success: true, result: { certificate: pem, ...more }, errors: [], messages: [] });
