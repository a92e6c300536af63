import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { clusterFileSchema } from '../../../src/cluster/schema.js';
import type { ApiServer } from '../../../src/kube/api-server.js';
import { openApiServers, type ApiSettings } from '../../../src/kube/connect.js';
import { TestPki, type TestCert } from '../../support/pki.js';

/** An error and everything that hangs on it, as text: a secret must not be found in there. */
export const allOf = (error: unknown): string => inspect(error, { depth: 10, showHidden: true });

export const SERVER_NAME = 'kubernetes.default.svc';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A TLS server that answers as a test wants, and the certificates of it and of its client. */
export class FakeApiserver {
  /** Answers each request; a test sets it. */
  handler: Handler = (_request, response) => void response.end();
  readonly pki: TestPki;
  readonly ca: TestCert;
  readonly client: TestCert;
  readonly port: number;
  readonly #server: Server;

  private constructor(
    pki: TestPki,
    certs: { readonly ca: TestCert; readonly client: TestCert },
    server: Server,
  ) {
    this.pki = pki;
    this.ca = certs.ca;
    this.client = certs.client;
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  static async start(address = '127.0.0.1'): Promise<FakeApiserver> {
    const pki = await TestPki.create();
    const ca = await pki.certificate('ca', { ca: true });
    const [serving, client] = await Promise.all([
      pki.certificate('serving', { issuer: ca, sans: [`DNS:${SERVER_NAME}`] }),
      pki.certificate('client', { issuer: ca }),
    ]);
    const server = createServer({
      cert: serving.pem,
      key: serving.key,
      ca: ca.pem,
      requestCert: true,
      rejectUnauthorized: false,
    });
    server.listen(0, address);
    await once(server, 'listening');
    const fake = new FakeApiserver(pki, { ca, client }, server);
    server.on('request', (request: IncomingMessage, response: ServerResponse) =>
      fake.handler(request, response),
    );
    return fake;
  }

  /** Answers every request with this. */
  answers(status: number, body: unknown): void {
    this.handler = (_request, response) => {
      response.writeHead(status, { 'Content-Type': 'application/json' });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await this.pki.remove();
  }

  /** A kubeconfig whose user and cluster say this; by default with the CA and the client certificate, by path. */
  async kubeconfig(user?: object, cluster: object = {}): Promise<string> {
    const path = this.pki.path('kubeconfig');
    const content = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
      clusters: [
        {
          name: 'test',
          cluster: { server: 'https://vip.example.net', 'certificate-authority': 'ca.crt', ...cluster },
        },
      ],
      users: [
        { name: 'test', user: user ?? { 'client-certificate': 'client.crt', 'client-key': 'client.key' } },
      ],
    };
    // JSON is YAML.
    await writeFile(path, JSON.stringify(content));
    return path;
  }

  /** The client of it that certroll would have, with a kubeconfig as `kubeconfig()` makes it. */
  async open(
    settings: Partial<ApiSettings> = {},
    kubeconfig: Parameters<FakeApiserver['kubeconfig']> = [],
    address = '127.0.0.1',
  ): Promise<ApiServer> {
    const api = clusterFileSchema.shape.api.parse({
      kubeconfig: await this.kubeconfig(...kubeconfig),
      port: this.port,
      ...settings,
    });
    const servers = await openApiServers(api, this.pki.dir, [{ name: 'cp1.example.net', address }]);
    const server = servers.get('cp1.example.net');
    if (!server) throw new Error('no client');
    return server;
  }
}
