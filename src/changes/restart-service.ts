import { CertrollError, EXIT } from '../core/errors.js';
import type { RunningService, ServiceFact } from '../hosts/host.js';
import { serviceKind } from '../hosts/services/index.js';
import { withRestart } from '../trust/world.js';
import type { ApplyContext, ChangeKind, RestartService } from './change.js';
import { afterRestoring, askLoaded, lastGoodFiles, putBack, type LoadedBefore } from './last-good.js';

/** A service that is restarted, and what has been seen of it since before. */
interface Watched {
  readonly change: RestartService;
  readonly seen: ServiceFact[];
  /** Host's clock minus the bastion's at the last look, milliseconds. */
  clockOffsetMs: number;
}

const watch = (change: RestartService): Watched => ({ change, seen: [], clockOffsetMs: 0 });

const lookAt = async (watched: Watched, context: ApplyContext): Promise<ServiceFact> => {
  const { change } = watched;
  const spec = context.doors.service(change.host, change.service);
  const facts = await context.doors.host(change.host).readFacts({ services: { [change.service]: spec } });
  const fact = facts.services.get(change.service);
  if (!fact) throw new Error(`nothing was said of ${change.service} on ${change.host}`);
  watched.seen.push(fact);
  watched.clockOffsetMs = facts.clockOffsetMs;
  return fact;
};

/** `/readyz` of that apiserver, several times in a row, then time for the load balancer to see it too. */
const waitReady = async (change: RestartService, context: ApplyContext): Promise<void> => {
  const { readyTimeoutMs, readyTimes, settleMs } = context.settings;
  const api = context.doors.api(change.host);
  let inARow = 0;
  let detail = 'no answer';
  const ready = await context.timers.poll(
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
        hint: `The other hosts were left alone. Look at its log on ${change.host}.`,
      },
    );
  }
  context.progress('ready; waiting for the load balancer', change.host);
  await context.timers.pause(settleMs, context.signal);
};

/** Sends it once the lock has been seen to be held in the very last moment: the own deadline, then etcd's own word. */
const send = async (watched: Watched, context: ApplyContext): Promise<void> => {
  const { lock } = context;
  const { change } = watched;
  if (!lock) throw new Error('a restart outside the lock: a defect of the plan');
  const spec = context.doors.service(change.host, change.service);
  const isApiserver = change.service === 'kube-apiserver';
  await serviceKind(spec).restart(spec, {
    host: context.doors.host(change.host),
    service: change.service,
    seen: [...watched.seen],
    look: async () => lookAt(watched, context),
    beforeSending: async () => {
      await lock.recheck();
      lock.assertHeld();
    },
    isReady: isApiserver ? async () => (await context.doors.api(change.host).readyz()).ready : undefined,
    readyTimeoutMs: context.settings.readyTimeoutMs,
    now: () => new Date(context.now().getTime() + watched.clockOffsetMs),
    timers: context.timers,
    signal: context.signal,
    progress: (text) => context.progress(text, change.host),
  });
};

const notRunning = ({ host, service }: RestartService): CertrollError =>
  new CertrollError(`${host}: ${service} does not run after its restart`, {
    code: 'restart.not-running',
    host,
    hint: `The other hosts were left alone. Look at its log on ${host}.`,
  });

const waitRunning = async (watched: Watched, context: ApplyContext): Promise<void> => {
  const running = await context.timers.poll(
    async () => {
      const service = await lookAt(watched, context);
      return service.running ? service : undefined;
    },
    { timeoutMs: context.settings.readyTimeoutMs, intervalMs: 1000, signal: context.signal },
  );
  if (!running) throw notRunning(watched.change);
};

/** Restarts and waits until the service is well again. */
const restart = async (watched: Watched, context: ApplyContext): Promise<void> => {
  await send(watched, context);
  await waitRunning(watched, context);
  if (watched.change.service === 'kube-apiserver') await waitReady(watched.change, context);
};

const undrain = async (change: RestartService, context: ApplyContext): Promise<void> => {
  const command = context.settings.undrain(change.host);
  if (command) await context.doors.host(change.host).run(command, { signal: context.signal });
};

/** Whether the host can be looked after: the restart has failed for certain, and the lock is still this run's. */
const isCertain = (thrown: unknown, context: ApplyContext): thrown is CertrollError =>
  thrown instanceof CertrollError &&
  thrown.exit === EXIT.failed &&
  !context.signal.aborted &&
  (thrown.code.startsWith('restart.') || thrown.code === 'host.command');

/**
 * After the first failure: the last good files of that host are put back and its apiserver restarted with them. Always
 * throws: the run stops, whatever comes of it.
 */
const restoreAndStop = async (
  watched: Watched,
  context: ApplyContext,
  before: RunningService,
  loaded: LoadedBefore,
  failure: CertrollError,
): Promise<never> => {
  const { change } = watched;
  const files = await lastGoodFiles(change.host, before, loaded, context);
  if (files.length === 0) throw failure;
  await putBack(change.host, files, context);
  const ready = await restart(watched, context).then(
    () => true,
    () => false,
  );
  if (ready) await undrain(change, context);
  throw afterRestoring(change.host, failure, { files, ready });
};

export const restartService: ChangeKind<RestartService> = {
  describe: (change) => `restart ${change.service}`,

  model: (change, world) => withRestart(world, change.host, change.service),

  async apply(change, context) {
    const watched = watch(change);
    const before = await lookAt(watched, context);
    const loaded = change.service === 'kube-apiserver' ? await askLoaded(change.host, context) : undefined;
    const drain = context.settings.drain(change.host);
    if (drain) await context.doors.host(change.host).run(drain, { signal: context.signal });
    try {
      await restart(watched, context);
    } catch (thrown) {
      if (loaded && before.running && isCertain(thrown, context))
        return restoreAndStop(watched, context, before, loaded, thrown);
      throw thrown;
    }
    await undrain(change, context);
  },

  async verify(change, context) {
    const service = await lookAt(watch(change), context);
    if (!service.running) throw notRunning(change);
  },
};
