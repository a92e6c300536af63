import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { runCtl } from './control-plane.js';
import { readDaemon } from './daemons.js';
import { API_NAME, type Layout } from './settings.js';

/** What an apiserver answered. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

export interface AskOptions {
  readonly method?: 'GET' | 'POST';
  /** Goes out as JSON. */
  readonly body?: object;
  /** Who asks: the cluster's admin (default), nobody, a bearer token, or the certificate of that name in `pki/`. */
  readonly as?: 'admin' | 'anonymous' | { readonly token: string } | { readonly certificate: string };
  /** Instead of the port in the cluster file. */
  readonly port?: number;
}

/** One host of a playground. */
export class PlaygroundHost {
  /** Full name, as in the cluster file. */
  readonly name: string;
  readonly #at: Layout;

  constructor(name: string, at: Layout) {
    this.name = name;
    this.#at = at;
  }

  /** A file of the host, such as `sa.key`, `sa.crt`, `sa-verification-keys.pem`, `apiserver.log`, `ctl`. */
  path(name: string): string {
    return this.#at.host(this.name, name);
  }

  /** Where its apiserver listens on 127.0.0.1. */
  async apiPort(): Promise<number> {
    const file = await readFile(this.#at.clusterFile, 'utf8');
    const port = new RegExp(`^    ${this.name}: (\\d+)$`, 'm').exec(file)?.[1];
    if (port === undefined) throw new Error(`${this.#at.clusterFile} has no port for ${this.name}`);
    return Number(port);
  }

  /** Pid of its apiserver; undefined when none runs. */
  async apiserverPid(): Promise<number | undefined> {
    return (await readDaemon(this.path('apiserver')))?.pid;
  }

  /** As the service manager of a real host would; start and restart wait until it is ready. */
  async apiserver(verb: 'start' | 'stop' | 'restart'): Promise<void> {
    await runCtl(this.name, this.#at, verb);
  }

  /** One request to its apiserver, without certroll's own client. */
  async ask(path: string, options: AskOptions = {}): Promise<Answer> {
    const { method = 'GET', body, as = 'admin' } = options;
    const read = async (name: string): Promise<string> => readFile(this.#at.pki(name), 'utf8');
    const certificate = typeof as === 'string' ? as : 'certificate' in as ? as.certificate : 'anonymous';
    const port = options.port ?? (await this.apiPort());
    const credentials =
      certificate === 'anonymous'
        ? {}
        : { cert: await read(`${certificate}.crt`), key: await read(`${certificate}.key`) };
    const ca = await read('ca.crt');
    const headers = {
      'Content-Type': 'application/json',
      ...(typeof as === 'object' && 'token' in as && { Authorization: `Bearer ${as.token}` }),
    };
    return new Promise((resolve, reject) => {
      request(
        {
          host: '127.0.0.1',
          port,
          path,
          method,
          headers,
          ca,
          ...credentials,
          servername: API_NAME,
          agent: false,
        },
        (response) => {
          text(response).then(
            (answered) =>
              resolve({ status: response.statusCode ?? 0, body: answered, headers: response.headers }),
            reject,
          );
        },
      )
        .on('error', reject)
        .end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}
