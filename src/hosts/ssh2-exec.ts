import { constants } from 'node:os';
import type { Client, ClientChannel } from 'ssh2';
import { messageOf } from '../core/errors.js';
import { NotSent } from './shared-connection.js';
import { bytesOf } from './stdin.js';
import { calledOff, MOST_OUTPUT, outcomeUnknown, timedOut, tooMuch } from './ssh-errors.js';
import type { ExecOptions, ExecResult } from './transport.js';

/**
 * Runs a command line on an open connection. Resolves only when the exit status *and* all output
 * have come; throws `NotSent` when the command was not sent, else as `Transport.exec` does.
 */
export const execOn = (
  client: Client,
  host: string,
  line: string,
  options: ExecOptions,
): Promise<ExecResult> =>
  new Promise((resolve, reject) => {
    const { timeoutMs, signal } = options;
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    let channel: ClientChannel | undefined;
    let exitCode: number | undefined;
    let isOver = false;
    const finish = (settle: () => void): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      client.removeListener('close', onLost);
      settle();
    };
    const fail = (error: Error): void => {
      finish(() => {
        if (channel !== undefined) stop(channel);
        reject(error);
      });
    };
    const onLost = (): void => fail(outcomeUnknown(host));
    const onAbort = (): void => {
      if (signal !== undefined) fail(calledOff(host, signal, true));
    };
    const timer = setTimeout(() => fail(timedOut(host, timeoutMs)), timeoutMs);
    const onOpened = (opened: ClientChannel): void => {
      channel = opened;
      // Both are read to the end whatever happens: ssh2 reports no close while output is left.
      let size = 0;
      const keepIn = (parts: Buffer[]) => (chunk: Buffer) => {
        size += chunk.length;
        if (size > MOST_OUTPUT) fail(tooMuch(host));
        else parts.push(chunk);
      };
      opened.on('data', keepIn(stdout));
      opened.stderr.on('data', keepIn(stderr));
      opened.on('error', () => undefined);
      opened.on('exit', (code: number | null, signalName?: string) => {
        exitCode = code ?? 128 + signalNumber(signalName);
      });
      opened.on('close', () => {
        const code = exitCode;
        if (code === undefined) fail(outcomeUnknown(host));
        else
          finish(() =>
            resolve({
              exitCode: code,
              stdout: Buffer.concat(stdout),
              stderr: Buffer.concat(stderr).toString(),
            }),
          );
      });
      if (isOver) stop(opened);
      else opened.end(bytesOf(options.stdin));
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    // The connection's own end comes first: a channel that it takes down may look like a finished one.
    client.on('close', onLost);

    try {
      client.exec(line, (error, opened) => {
        if (error === undefined) onOpened(opened);
        // Only a refusal to open the channel has a reason; anything later may have been after the command.
        else fail('reason' in error ? new NotSent(error.message) : outcomeUnknown(host, error));
      });
    } catch (error) {
      // Thrown at once when the connection is gone.
      fail(new NotSent(messageOf(error)));
    }
  });

/** Asks for the command's end. sshd refuses signals for root, so closing is all there is for it. */
const stop = (channel: ClientChannel): void => {
  channel.signal('TERM');
  channel.close();
};

/** Signals come by name, with or without SIG. */
const signalNumber = (name: string | undefined): number => {
  const full = `SIG${name?.replace(/^SIG/, '') ?? ''}`;
  return full in constants.signals ? constants.signals[full as NodeJS.Signals] : 0;
};
