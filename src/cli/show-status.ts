import { EXIT } from '../core/errors.js';
import { shortKid } from '../report/kids.js';
import { renderMatrix, STATE_LEGEND, trustMatrix } from '../report/matrix.js';
import { shortNames, shortProcess } from '../report/names.js';
import type { LockHolder } from '../etcd/store.js';
import { observe } from '../run/observe.js';
import { describeHolder, runLockName } from '../run/run.js';
import { brokenCredentials, describeCredential, type BrokenCredential } from '../trust/edges.js';
import { isRolledBack } from '../trust/rotation.js';
import type { World } from '../trust/world.js';
import type { StatusFlags } from './commands/status.js';
import { chooseReporter, emitTo, outputStyle, print, withSession } from './session.js';

/** Sorted, so that two looks at one cluster read the same. */
const list = (ids: readonly string[], names: ReadonlyMap<string, string>): string =>
  ids
    .map((id) => shortProcess(id, names))
    .sort()
    .join(', ');

const sentences = (
  { credential, presenters, refusing, wouldRefuse }: BrokenCredential,
  names: ReadonlyMap<string, string>,
): readonly string[] => {
  const what =
    credential.kind === 'token-key' ? `kid ${shortKid(credential.key)}` : describeCredential(credential);
  const tokens = `tokens of ${list(presenters, names)} (${what})`;
  return [
    ...(refusing.length > 0 ? [`${tokens} are refused by ${list(refusing, names)}`] : []),
    ...(wouldRefuse.length > 0
      ? [`${tokens} would be refused after its next restart by ${list(wouldRefuse, names)}`]
      : []),
  ];
};

/** What is on record of the last rotation, and whether a run is under way. */
export const rotationLine = (world: World, runHolder: LockHolder | undefined): string => {
  const { rotation } = world;
  const running = runHolder ? ` A run is under way: ${describeHolder(runHolder)}.` : '';
  if (!rotation) return `No rotation on record.${running}`;
  const { id, startedAt } = rotation;
  const which = `Rotation ${id}, started ${startedAt.toISOString()},`;
  if (rotation.state === 'done') {
    const done = isRolledBack(world) ? 'was rolled back: none of its keys signs any more' : 'is done';
    return `${which} ${done}.${running}`;
  }
  const open = `${which} is not finished.`;
  return running === ''
    ? `${open} Nobody is at it: certroll run rotate-sa-keys goes on with it.`
    : open + running;
};

/** The last line: it says that all is well only when all was seen. */
const verdict = (isBroken: boolean, isUnseen: boolean, clusterFile: string): string => {
  if (isBroken) return `certroll plan rotate-sa-keys -c ${clusterFile} shows what would mend this.`;
  return isUnseen
    ? 'What was seen is accepted; what was not seen is not known.'
    : 'Every token is accepted by every apiserver.';
};

/** `certroll status`; exit 3 when an edge does not hold, or when something was not seen. */
export const showStatus = async (flags: StatusFlags): Promise<number> =>
  withSession(flags.cluster, async ({ cluster, doors, observation }) => {
    const reporter = await chooseReporter();
    const emit = emitTo(reporter);
    try {
      const quiet = flags.json === true || !process.stderr.isTTY;
      const { world, notes, unseen } = await observe({
        ...observation,
        progress: (text, host) => {
          if (!quiet) emit({ type: 'progress', text, ...(host === undefined ? {} : { host }) });
        },
      });
      reporter.end();
      const broken = brokenCredentials(world);
      const rotation = world.rotation && { ...world.rotation, rolledBack: isRolledBack(world) };
      const [runHolder] = await doors.store.lockHolders(
        runLockName(observation.registryPrefix, cluster.name),
      );
      if (flags.json === true) {
        const matrix = trustMatrix(world).map((row) => ({
          ...row,
          accepted: Object.fromEntries(row.accepted),
        }));
        print(
          JSON.stringify({ cluster: world.cluster, at: world.now, matrix, rotation, broken, notes, unseen }),
        );
      } else {
        const names = shortNames([...world.hosts.keys()]);
        print(renderMatrix(world, outputStyle()));
        print(STATE_LEGEND);
        print('');
        print(rotationLine(world, runHolder));
        for (const note of notes) print(`note: ${note}`);
        for (const text of broken.flatMap((each) => sentences(each, names)).sort()) print(`broken: ${text}`);
        for (const { host, service, detail } of unseen) {
          print(`not seen: ${host}: no running ${service} was found: ${detail}`);
        }
        print(verdict(broken.length > 0, unseen.length > 0, flags.cluster));
      }
      return broken.length + unseen.length === 0 ? EXIT.done : EXIT.findings;
    } finally {
      reporter.end();
    }
  });
