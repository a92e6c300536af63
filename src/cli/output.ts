import { EXIT } from '../core/errors.js';

const WHY: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on the device',
  EIO: 'the terminal or device is gone',
};

/** A command that could not show what it did or found has failed, whatever status it sets later. */
const failAtExit = (): void => {
  process.once('exit', (status) => {
    if (status === EXIT.done || status === EXIT.findings) process.exitCode = EXIT.failed;
  });
};

/**
 * Output that cannot be written must not end a run between two changes: what it would have shown is dropped, and the run
 * goes on. A reader that went away (`| head -1`) wanted no more; anything else, such as a full disk, is told in one line,
 * and the exit status is that of a failure.
 */
export const outliveOutput = (): void => {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') return;
      failAtExit();
      const why = WHY[error.code ?? ''] ?? error.message;
      if (stream === process.stdout)
        process.stderr.write(`certroll: cannot write to standard output: ${why}\n`);
    });
  }
};
