import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '../../src/core/secret.js';
import { commandLine } from '../../src/hosts/command-line.js';
import type { ExecOptions, ExecResult, Transport } from '../../src/hosts/transport.js';

/**
 * This machine as the host: a command line goes to a local `sh` as sshd would hand it on. For the
 * scripts that run on hosts; the ways to get there have their own contract test.
 */
export class LocalTransport implements Transport {
  readonly target: Transport['target'];
  /** A folder of the host's, gone after `close`. */
  readonly dir = mkdtempSync(join(tmpdir(), 'certroll-host-'));
  /** What was run and what came back, for tests that look for what must not be there. */
  readonly results: ExecResult[] = [];
  /** Changes standard input on its way, as a lost connection would. */
  damage: (stdin: Buffer) => Buffer = (stdin) => stdin;
  /** Words before every command, such as those that take it into another namespace. */
  prefix: readonly string[] = [];
  readonly #shell: string;

  /** `shell`: what `sh` is there: dash on Debian, bash on RHEL. */
  constructor(options: { readonly shell?: 'dash' | 'bash'; readonly user?: string } = {}) {
    this.target = { hostname: 'localhost', user: options.user ?? 'root' };
    this.#shell = `/bin/${options.shell ?? 'dash'}`;
    mkdirSync(join(this.dir, 'bin'));
    symlinkSync(this.#shell, join(this.dir, 'bin', 'sh'));
  }

  /** Puts a command in front of the host's own of that name. */
  stub(name: string, script: string): void {
    const path = join(this.dir, 'bin', name);
    // `sh` is a link there: writing through it would overwrite this machine's own shell.
    rmSync(path, { force: true });
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
  }

  connect(): Promise<void> {
    return Promise.resolve();
  }

  exec(words: readonly string[], options: ExecOptions): Promise<ExecResult> {
    const { stdin = '' } = options;
    const bytes =
      stdin instanceof Secret ? stdin.reveal((secret) => Buffer.from(secret)) : Buffer.from(stdin as string);
    const PATH = `${join(this.dir, 'bin')}:${process.env['PATH'] ?? ''}`;
    const command = [this.#shell, '-c', commandLine(words)] as const;
    const [program, ...more] = this.prefix.length > 0 ? [...this.prefix, ...command] : command;
    const child = spawn(program, more, { env: { ...process.env, PATH } });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
    child.stdin.on('error', () => undefined);
    child.stdin.end(this.damage(bytes));
    return new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) => {
        const result = {
          exitCode: code ?? 143,
          stdout: Buffer.concat(stdout),
          stderr: Buffer.concat(stderr).toString(),
        };
        this.results.push({ ...result, stdout: Buffer.from(result.stdout) });
        resolve(result);
      });
    });
  }

  close(): Promise<void> {
    rmSync(this.dir, { recursive: true, force: true });
    return Promise.resolve();
  }
}
