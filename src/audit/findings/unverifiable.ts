import { groupBy } from '../../core/group.js';
import { processOf } from '../facts.js';
import { listed } from '../listed.js';
import { pairsOf, type Pair } from '../matrix.js';
import type { Hit, Rule } from '../rule.js';

/** Pairs that differ in their hosts only are one fault. */
const group = (pairs: readonly Pair[]): readonly (readonly Pair[])[] =>
  groupBy(pairs, ({ presenter, verifier, channel }) => {
    const shown = [channel, processOf(presenter), presenter.named, presenter.certificates[0]?.serial];
    return [...shown, verifier.component, verifier.named].join(' ');
  });

const hits = (pairs: readonly Pair[], how: string): readonly Hit[] =>
  group(pairs).flatMap((same) => {
    const [{ presenter, verifier } = {}] = same;
    if (!presenter || !verifier) return [];
    const where = listed([...new Set(same.map((each) => each.verifier.host))]);
    return [
      {
        host: presenter.host,
        component: presenter.component,
        subject: `${presenter.path} → ${verifier.component} ${verifier.named}`,
        text: `its ${presenter.role} (${presenter.named}) ${how} by ${verifier.component} on ${where}: no authority in ${verifier.path} vouches for it`,
      },
    ];
  });

export const refusedNow: Rule = {
  id: 'chain-broken',
  severity: 'critical',
  why: 'The two cannot talk: every new connection between them is refused.',
  action:
    'Let the verifier trust the authority that issued it (a bundle of the old and the new one), then see that it has loaded that.',
  check: (facts) =>
    hits(
      pairsOf(facts).filter(({ loaded }) => loaded === false),
      'is refused',
    ),
};

export const refusedAfterRestart: Rule = {
  id: 'chain-broken-on-disk',
  severity: 'critical',
  why: 'It works only until one of the two processes is started anew or reads its files again.',
  action: 'Mend the files before anything is restarted: no restart will mend this, and any may break it.',
  check: (facts) =>
    hits(
      pairsOf(facts).filter(({ disk, loaded }) => disk === false && loaded !== false),
      'would be refused after the next restart',
    ),
};
