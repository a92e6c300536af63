import { CertrollError, EXIT } from '../../core/errors.js';
import type { Host } from '../host.js';
import { sameProcess, type RestartContext } from './kind.js';

/** Milliseconds that a restart command itself may take; Type=notify units return only once the service is up. */
const RESTART_TIMEOUT_MS = 300_000;

/** Restarts by a command. Another process than before must run after it, or none. */
export const restartByCommand = async (
  command: readonly string[],
  context: RestartContext,
): Promise<void> => {
  const { host, service, seen } = context;
  await context.beforeSending();
  context.progress('restart sent');
  await host.run(command, { timeoutMs: RESTART_TIMEOUT_MS });
  const before = seen.at(-1);
  const after = await context.look();
  if (!before || !after.running || !sameProcess(before, after)) return;
  throw new CertrollError(
    `${host.name}: the restart of ${service} was sent and the same process (pid ${after.pid}) still runs`,
    {
      code: 'restart.same-process',
      exit: EXIT.unknown,
      host: host.name,
      hint: 'Look why the service manager did not restart it, then run again.',
    },
  );
};

/** A restart command that is not there would be found out only after the files were changed. */
export const missingCommand = async (host: Host, command: string): Promise<readonly string[]> => {
  const { exitCode } = await host.run(['sh', '-c', 'command -v "$1" >/dev/null', 'certroll', command], {
    readOnly: true,
    okCodes: [0, 1, 127],
  });
  return exitCode === 0 ? [] : [`its restart command '${command}' does not exist there`];
};
