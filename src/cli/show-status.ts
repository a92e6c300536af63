import { EXIT } from '../core/errors.js';
import { renderMatrix, trustMatrix } from '../report/matrix.js';
import { observe } from '../run/observe.js';
import { brokenEdges } from '../trust/edges.js';
import type { StatusFlags } from './commands/status.js';
import { chooseReporter, emitTo, outputStyle, print, withSession } from './session.js';

const sentence = (edge: {
  readonly presenter: string;
  readonly verifier: string;
  readonly key: string;
  readonly where: string;
}): string =>
  `a token of ${edge.presenter} (kid ${edge.key.slice(0, 12)}) ${edge.where === 'loaded' ? 'is' : 'would, after its next restart, be'} refused by ${edge.verifier}`;

/** `certroll status`; exit 3 when an edge does not hold. */
export const showStatus = async (flags: StatusFlags): Promise<number> =>
  withSession(flags.cluster, async ({ observation }) => {
    const reporter = await chooseReporter(false);
    const emit = emitTo(reporter);
    try {
      const quiet = flags.json === true || !process.stderr.isTTY;
      const { world, notes } = await observe({
        ...observation,
        progress: (text, host) => {
          if (!quiet) emit({ type: 'progress', text, ...(host === undefined ? {} : { host }) });
        },
      });
      reporter.end();
      const broken = brokenEdges(world);
      const rotation = world.rotation;
      if (flags.json === true) {
        const matrix = trustMatrix(world).map((row) => ({
          ...row,
          accepted: Object.fromEntries(row.accepted),
        }));
        print(JSON.stringify({ cluster: world.cluster, at: world.now, matrix, rotation, broken, notes }));
      } else {
        print(renderMatrix(world, outputStyle()));
        print('');
        print(
          rotation
            ? `Rotation ${rotation.id}: ${rotation.state}, started ${rotation.startedAt.toISOString()}`
            : 'No rotation on record.',
        );
        for (const note of notes) print(`note: ${note}`);
        for (const edge of broken) print(`broken: ${sentence(edge)}`);
        print(
          broken.length === 0
            ? 'Every token is accepted by every apiserver.'
            : `${broken.length} edges do not hold; certroll plan rotate-sa-keys shows what would mend them.`,
        );
      }
      return broken.length === 0 ? EXIT.done : EXIT.findings;
    } finally {
      reporter.end();
    }
  });
