import { CertrollError, EXIT } from '../core/errors.js';
import { pause, poll } from '../core/poll.js';
import type { ServiceFact, ServiceSpec } from '../hosts/host.js';
import { withRestart } from '../trust/world.js';
import type { ApplyContext, ChangeKind, RestartService } from './change.js';

/** Milliseconds that the restart command itself may take; Type=notify units return only once the service is up. */
const RESTART_TIMEOUT_MS = 300_000;

const restartCommand = (spec: ServiceSpec): readonly string[] =>
  spec.kind === 'systemd' ? ['systemctl', 'restart', spec.unit] : spec.restart;

const lookAt = async (change: RestartService, context: ApplyContext): Promise<ServiceFact | undefined> => {
  const spec = context.doors.service(change.host, change.service);
  const facts = await context.doors.host(change.host).readFacts({ services: { [change.service]: spec } });
  return facts.services.get(change.service);
};

const sameProcess = (a: ServiceFact, b: ServiceFact): boolean =>
  a.running && b.running && a.pid === b.pid && a.startTicks === b.startTicks;

/** `/readyz` of that apiserver, several times in a row, then time for the load balancer to see it too. */
const waitReady = async (change: RestartService, context: ApplyContext): Promise<void> => {
  const { readyTimeoutMs, readyTimes, settleMs } = context.settings;
  const api = context.doors.api(change.host);
  let inARow = 0;
  let detail = 'no answer';
  const ready = await poll(
    async () => {
      const answer = await api.readyz();
      inARow = answer.ready ? inARow + 1 : 0;
      detail = answer.detail;
      context.progress(answer.ready ? `ready ${inARow} of ${readyTimes}` : 'not ready yet', change.host);
      return inARow >= readyTimes ? true : undefined;
    },
    { timeoutMs: readyTimeoutMs, signal: context.signal },
  );
  if (!ready) {
    throw new CertrollError(
      `${change.host}: kube-apiserver was restarted and is not ready after ${readyTimeoutMs / 1000} s: ${detail}`,
      {
        code: 'restart.not-ready',
        host: change.host,
        hint: `Nothing else was touched. Look at its log on ${change.host}; the files before this run lie beside the live ones as *.certroll-previous.`,
      },
    );
  }
  context.progress('ready; waiting for the load balancer', change.host);
  await pause(settleMs, context.signal);
};

export const restartService: ChangeKind<RestartService> = {
  describe: (change) => `restart ${change.service}`,

  model: (change, world) => withRestart(world, change.host, change.service),

  async apply(change, context) {
    const { lock } = context;
    if (!lock) throw new Error('a restart outside the lock: a defect of the plan');
    const host = context.doors.host(change.host);
    const before = await lookAt(change, context);
    const drain = context.settings.drain(change.host);
    if (drain) await host.run(drain, { signal: context.signal });
    // The last moment before the command is sent: the own deadline first, then etcd's own word.
    await lock.recheck();
    lock.assertHeld();
    context.progress('restart sent', change.host);
    await host.run(restartCommand(context.doors.service(change.host, change.service)), {
      timeoutMs: RESTART_TIMEOUT_MS,
    });
    const after = await lookAt(change, context);
    if (before && after && sameProcess(before, after)) {
      throw new CertrollError(
        `${change.host}: the restart of ${change.service} was sent and the same process (pid ${after.running ? after.pid : 0}) still runs`,
        {
          code: 'restart.same-process',
          exit: EXIT.unknown,
          host: change.host,
          hint: 'Look why the service manager did not restart it, then run again.',
        },
      );
    }
  },

  async verify(change, context) {
    const running = await poll(
      async () => {
        const service = await lookAt(change, context);
        return service?.running ? service : undefined;
      },
      { timeoutMs: context.settings.readyTimeoutMs, intervalMs: 1000, signal: context.signal },
    );
    if (!running) {
      throw new CertrollError(`${change.host}: ${change.service} does not run after its restart`, {
        code: 'restart.not-running',
        host: change.host,
        hint: `Look at its log on ${change.host}; the files before this run lie beside the live ones as *.certroll-previous.`,
      });
    }
    if (change.service === 'kube-apiserver') await waitReady(change, context);
    const undrain = context.settings.undrain(change.host);
    if (undrain) await context.doors.host(change.host).run(undrain, { signal: context.signal });
  },
};
