import { createHash } from 'node:crypto';
import { CertrollError, EXIT } from '../core/errors.js';
import { Secret } from '../core/secret.js';
import { factsScript, parseFacts } from './facts.js';
import { understood } from './said.js';
import { changedMeanwhile, fence, fencedOff, isFencedOff, type Fence } from './fence.js';
import type {
  FactRequest,
  Host,
  HostFacts,
  KeyAlgorithm,
  RunOptions,
  RunResult,
  WriteOptions,
} from './host.js';
import { generateArguments, GENERATE_SCRIPT, requestParts, REQUEST_SCRIPT } from './keys.js';
import { unreachable } from './ssh-errors.js';
import { bytesOf } from './stdin.js';
import { sudoFailure, underSudo } from './sudo.js';
import type { Transport } from './transport.js';
import { INSTALL_SCRIPT, REMOVE_SCRIPT, RESTORE_SCRIPT, WRITE_SCRIPT, WRITE_STATUS } from './write.js';

const DEFAULT_TIMEOUT_MS = 60_000;
/** What the scripts keep a replaced file as. */
const PREVIOUS = '.certroll-previous';
/** A 4096-bit key takes seconds, and much longer on a small machine that is short of random numbers. */
const GENERATE_TIMEOUT_MS = 180_000;

/** A host at the other end of a `Transport`; see `Host` for what each method promises. */
export class RemoteHost implements Host {
  readonly name: string;
  readonly #transport: Transport;
  readonly #sudo: boolean;
  readonly #fence: Fence | undefined;
  /** What must still be so of the files; what this host has changed itself is left out. */
  readonly #sums: Map<string, string | undefined>;
  /** Shared by a host and its fenced selves: what was measured last counts for all. */
  readonly #clock: { offsetMs: number | undefined };

  /** `sudo`: what the cluster file says; it is left out where the login user is root already. */
  constructor(
    name: string,
    transport: Transport,
    options: { readonly sudo: boolean },
    fenced?: { readonly fence: Fence; readonly clock: { offsetMs: number | undefined } },
  ) {
    this.name = name;
    this.#transport = transport;
    this.#sudo = options.sudo;
    this.#fence = fenced?.fence;
    this.#sums = new Map(fenced?.fence.sums);
    this.#clock = fenced?.clock ?? { offsetMs: undefined };
  }

  fenced(fence: Fence): Host {
    const { name } = this;
    return new RemoteHost(name, this.#transport, { sudo: this.#sudo }, { fence, clock: this.#clock });
  }

  address(): Promise<string> {
    return Promise.resolve(this.#transport.target.hostname);
  }

  async run(argv: readonly string[], options: RunOptions = {}): Promise<RunResult> {
    const { user } = this.#transport.target;
    const isSudo = (options.sudo ?? this.#sudo) && user !== 'root';
    const { okCodes = [0], timeoutMs = DEFAULT_TIMEOUT_MS, stdin, signal } = options;
    const words = options.readOnly === true ? argv : await this.#withFence(argv);
    const result = await this.#transport
      .exec(isSudo ? underSudo(words) : ['env', 'LC_ALL=C', ...words], {
        timeoutMs,
        ...(stdin === undefined ? {} : { stdin }),
        ...(signal === undefined ? {} : { signal }),
      })
      .catch((error: unknown) => {
        throw options.readOnly === true ? withoutDoubt(this.name, error) : error;
      });
    const denied = isSudo ? sudoFailure(this.name, user, result) : undefined;
    if (denied !== undefined) throw denied;
    const off = words === argv ? undefined : fencedOff(this.name, result);
    if (off) throw off;
    if (!okCodes.includes(result.exitCode)) throw commandFailed(this.name, argv, result);
    return result;
  }

  /** Puts before a command what must be so for it to be run; the time that is left is told by the host's own clock. */
  async #withFence(argv: readonly string[]): Promise<readonly string[]> {
    if (!this.#fence) return argv;
    if (this.#clock.offsetMs === undefined) await this.readFacts({});
    return fence(argv, Date.now() + this.#fence.leftMs() + (this.#clock.offsetMs ?? 0), this.#sums);
  }

  async readFacts(request: FactRequest): Promise<HostFacts> {
    for (const path of [
      ...(request.publicFiles ?? []),
      ...(request.privateKeys ?? []),
      ...(request.freeSpaceOf ?? []),
    ]) {
      checkPath(path);
    }
    // The first connection's handshake must not count as time on the way.
    await this.#transport.connect();
    const sentAtMs = Date.now();
    const { stdout } = await this.run(['sh', '-s'], { stdin: factsScript(request), readOnly: true });
    const trip = { sentAtMs, receivedAtMs: Date.now() };
    const facts = understood(this.name, () => parseFacts(this.name, request, stdout.toString(), trip));
    this.#clock.offsetMs = facts.clockOffsetMs;
    return facts;
  }

  async writeFile(path: string, content: string | Secret, options: WriteOptions = {}): Promise<void> {
    const mode = options.mode ?? (content instanceof Secret ? 0o600 : 0o644);
    const sha256 = createHash('sha256').update(bytesOf(content)).digest('hex');
    await this.#change(`write ${path}`, WRITE_SCRIPT, {
      paths: [path],
      words: [
        checkPath(path),
        sha256,
        options.like ?? '',
        mode.toString(8),
        options.keepPrevious ? 'yes' : '',
        options.ifSha256 ?? '',
      ],
      stdin: content,
    });
  }

  async installFiles(
    files: readonly { readonly from: string; readonly to: string }[],
    options: { readonly keepPrevious?: boolean } = {},
  ): Promise<void> {
    const pairs = files.flatMap(({ from, to }) => [checkPath(from), checkPath(to)]);
    const what = `install ${files.map(({ to }) => to).join(' and ')}`;
    const words = [options.keepPrevious ? 'yes' : '', ...pairs];
    await this.#change(what, INSTALL_SCRIPT, { paths: pairs, words });
  }

  async restoreFiles(files: readonly { readonly path: string; readonly aside?: string }[]): Promise<void> {
    const words = files.flatMap(({ path, aside }) => [
      checkPath(path),
      aside === undefined ? '' : checkPath(aside),
    ]);
    const what = `restore ${files.map(({ path }) => path).join(' and ')}`;
    await this.#change(what, RESTORE_SCRIPT, { paths: words, words });
  }

  async removeFile(path: string): Promise<void> {
    await this.#change(`remove ${path}`, REMOVE_SCRIPT, { paths: [path], words: [checkPath(path)] });
  }

  async generateKey(
    path: string,
    algorithm: KeyAlgorithm,
    options: { readonly like?: string } = {},
  ): Promise<{ readonly publicKeyPem: string }> {
    const { stdout } = await this.#change(`generate a key in ${path}`, GENERATE_SCRIPT, {
      paths: [path],
      words: [checkPath(path), options.like ?? '', ...generateArguments(algorithm)],
      timeoutMs: GENERATE_TIMEOUT_MS,
    });
    return { publicKeyPem: stdout.toString() };
  }

  async certificateRequest(
    keyPath: string,
    subject: { readonly commonName: string; readonly dnsNames?: readonly string[] },
  ): Promise<string> {
    const parts = requestParts(subject);
    const words = [checkPath(keyPath), parts.subject, parts.config];
    const { stdout } = await this.run(['sh', '-c', REQUEST_SCRIPT, 'certroll', ...words], { readOnly: true });
    return stdout.toString();
  }

  async sign(keyPath: string, data: Uint8Array, digest: 'sha256' | 'sha384'): Promise<Buffer> {
    const argv = ['openssl', 'dgst', `-${digest}`, '-passin', 'pass:', '-sign', checkPath(keyPath)];
    const { stdout } = await this.run(argv, { stdin: data, readOnly: true });
    return stdout;
  }

  async readSecret(path: string): Promise<Secret> {
    const { stdout } = await this.run(['cat', '--', checkPath(path)], { readOnly: true });
    const secret = new Secret(stdout);
    stdout.fill(0);
    return secret;
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  /** Runs a script that changes files; its failures become `host.write` or `host.no-space`. */
  async #change(
    what: string,
    script: string,
    options: {
      /** What it changes, with or without success. */
      readonly paths: readonly string[];
      readonly words: readonly string[];
      readonly stdin?: string | Secret;
      readonly timeoutMs?: number;
    },
  ): Promise<RunResult> {
    const { paths, words, ...rest } = options;
    const argv = ['sh', '-c', script, 'certroll', ...words];
    const isOwn = (): void => {
      for (const path of paths.flatMap((each) => [each, each + PREVIOUS])) this.#sums.delete(path);
    };
    try {
      const result = await this.run(argv, rest);
      isOwn();
      return result;
    } catch (error) {
      if (!isFencedOff(error)) isOwn();
      if (error instanceof CommandFailed && error.exitCode === WRITE_STATUS.changed)
        throw changedMeanwhile(this.name, paths);
      if (error instanceof CommandFailed) throw writeFailed(this.name, what, error);
      throw error;
    }
  }
}

/** `host.command`: the command ran and exited with a status that is not one of the expected. */
class CommandFailed extends CertrollError {
  readonly exitCode: number;
  // Private, so that printing the error prints no more than its message.
  readonly #stderr: string;

  constructor(message: string, host: string, { exitCode, stderr }: RunResult) {
    super(message, { code: 'host.command', host });
    this.exitCode = exitCode;
    this.#stderr = stderr;
  }

  get stderr(): string {
    return this.#stderr;
  }
}

const commandFailed = (host: string, argv: readonly string[], result: RunResult): CommandFailed => {
  const { exitCode, stderr } = result;
  // A script would fill the screen; its arguments say what it was for.
  const shown = argv.map((word) => (word.includes('\n') ? '…' : word)).join(' ');
  return new CommandFailed(`'${shown}' on ${host} exited with ${exitCode}${saying(stderr)}`, host, result);
};

const writeFailed = (host: string, what: string, error: CommandFailed): CertrollError => {
  const isFull = /No space left on device|Disk quota exceeded/.test(error.stderr);
  return new CertrollError(`could not ${what} on ${host}${saying(error.stderr)}`, {
    code: isFull ? 'host.no-space' : 'host.write',
    host,
    cause: error,
    ...(isFull ? { hint: 'Free some space on that file system; the old file is untouched.' } : {}),
  });
};

/** The last lines of stderr, for the end of a message; openssl's rows of dots say nothing. */
const saying = (stderr: string): string => {
  const lines = stderr.split('\n').map((line) => line.trim().replace(/^certroll: /, ''));
  const text = lines
    .filter((line) => !/^[.+*]*$/.test(line))
    .slice(-5)
    .join('; ');
  return text === '' ? '' : `: ${text.slice(0, 500)}`;
};

/** Nothing was to be changed, so a lost connection or a timeout leaves nothing unknown. */
const withoutDoubt = (host: string, error: unknown): unknown => {
  if (!(error instanceof CertrollError) || error.exit !== EXIT.unknown) return error;
  if (error.code === 'ssh.outcome-unknown')
    return unreachable(host, 'the connection was lost', { cause: error });
  return new CertrollError(error.message, { code: error.code, host, cause: error });
};

/** No control characters: the shell's `$(…)` would drop a newline at the end. */
const checkPath = (path: string): string => {
  if (/^\/[^\x00-\x1f\x7f]*$/.test(path)) return path;
  throw new CertrollError(`'${path}' is not an absolute path`, { code: 'usage.path', exit: EXIT.usage });
};
