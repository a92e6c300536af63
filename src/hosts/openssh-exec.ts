import { randomUUID } from 'node:crypto';
import { execa } from 'execa';
import { commandLine } from './command-line.js';
import type { OpensshMaster } from './openssh-master.js';
import { NotSent } from './shared-connection.js';
import { bytesOf } from './stdin.js';
import { calledOff, MOST_OUTPUT, outcomeUnknown, timedOut, tooMuch } from './ssh-errors.js';
import type { ExecOptions, ExecResult } from './transport.js';

/**
 * ssh's status 255 may be its own or the command's, so the host tells beginning and end itself, on
 * stderr, with a word that nobody else knows.
 */
const TOLD = `printf '%s\\n' "$1" >&2; sh -c "$2"; code=$?; printf '%s %s\\n' "$1" "$code" >&2; exit "$code"`;

/** Without the shared connection ssh tries one of its own, which `ProxyCommand=false` makes fail with one of these. */
const FELL_BACK = /kex_exchange_identification|UNKNOWN port/;

/** Runs a command line through the shared connection. Throws `NotSent`, else as `Transport.exec` does. */
export const execThrough = async (
  master: OpensshMaster,
  host: string,
  line: string,
  options: ExecOptions,
): Promise<ExecResult> => {
  const { timeoutMs, signal } = options;
  const told = randomUUID();
  const argv = [
    // The connection is open: nothing of ssh_config applies, and no second connection is made.
    ...['-F', '/dev/null', '-S', master.socket, '-o', 'ControlMaster=no', '-o', 'BatchMode=yes'],
    ...['-o', 'LogLevel=ERROR', '-o', 'EscapeChar=none', '-o', 'ProxyCommand=false'],
    ...['-T', '--', host, commandLine(['sh', '-c', TOLD, 'sh', told, line])],
  ];
  const child = execa('ssh', argv, {
    input: bytesOf(options.stdin),
    encoding: 'buffer',
    detached: true,
    reject: false,
    stripFinalNewline: false,
    maxBuffer: MOST_OUTPUT,
  });
  const { exitCode, stdout, stderr, isMaxBuffer } = await new Promise<Awaited<typeof child>>(
    (resolve, reject) => {
      const giveUp = (error: Error): void => {
        reject(error);
        endGroup(child.pid);
        // The master has copies of the pipes until the command ends; nobody waits for that.
        child.stdout.destroy();
        child.stderr.destroy();
      };
      const timer = setTimeout(() => giveUp(timedOut(host, timeoutMs)), timeoutMs);
      const onAbort = (): void => {
        if (signal !== undefined) giveUp(calledOff(host, signal, true));
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      void child.then(resolve).finally(() => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      });
    },
  );
  if (isMaxBuffer) throw tooMuch(host);
  return judge(host, told, { exitCode, stdout: Buffer.from(stdout), stderr: Buffer.from(stderr).toString() });
};

/** Tells the command's own end from ssh's. */
const judge = (
  host: string,
  told: string,
  { exitCode, stdout, stderr }: { exitCode: number | undefined; stdout: Buffer; stderr: string },
): ExecResult => {
  const begin = stderr.indexOf(`${told}\n`);
  if (begin < 0) {
    if (/session request failed|Session open refused/i.test(stderr))
      throw new NotSent('the host opens no more sessions');
    if (FELL_BACK.test(stderr) && !stderr.includes('mux_client'))
      throw new NotSent('the shared connection ended');
    // A login shell that runs nothing (nologin) answers without having run the command.
    if (exitCode !== undefined && exitCode !== 255) return { exitCode, stdout, stderr };
    throw outcomeUnknown(host);
  }
  const finish = stderr.lastIndexOf(`${told} `);
  const code = Number(stderr.slice(finish + told.length + 1));
  if (finish < begin || exitCode !== code) throw outcomeUnknown(host);
  return {
    exitCode: code,
    stdout,
    stderr: stderr.slice(0, begin) + stderr.slice(begin + told.length + 1, finish),
  };
};

/** ssh and whatever it started hold the pipes: all of them must go. */
const endGroup = (pid: number | undefined): void => {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It had ended by itself.
  }
};
