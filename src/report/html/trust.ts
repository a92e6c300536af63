import type { ClusterReport } from '../../audit/report.js';
import { groupBy } from '../../core/group.js';
import { shortKid } from '../kids.js';
import { markup, name, places, table, type Markup } from './markup.js';

const MARKS = { yes: '✔ yes', no: '✘ no', unknown: '? unknown' } as const;
type Mark = keyof typeof MARKS;

interface Verdict {
  readonly disk: Mark;
  readonly loaded: Mark;
}

const verdictOf = ({ disk, loaded }: Verdict): Mark =>
  disk === 'no' || loaded === 'no' ? 'no' : disk === 'yes' && loaded === 'yes' ? 'yes' : 'unknown';

/** Where now and on disk differ, a restart changes the answer: then both are told. */
const markCell = (verdict: Verdict): Markup => {
  const { disk, loaded } = verdict;
  const text = disk === loaded ? MARKS[disk] : `now ${MARKS[loaded]}, on disk ${MARKS[disk]}`;
  return markup`<td class="mark ${verdictOf(verdict)}">${text}</td>`;
};

/** Key × apiserver. */
const keyTable = ({ keys }: ClusterReport, id: string): Markup => {
  const hosts = [...new Set(keys.flatMap(({ apiservers }) => apiservers.map(({ host }) => host)))];
  const rows = keys.map(({ kid, signers, apiservers }) => {
    const byHost = new Map(apiservers.map((each) => [each.host, each]));
    const cells = hosts.map((host) => {
      const found = byHost.get(host);
      return found ? markCell(found) : markup`<td>-</td>`;
    });
    return markup`<tr><th scope="row"><code>${shortKid(kid)}</code></th>${cells}<td>${signers.length > 0 ? places(signers) : 'nothing'}</td></tr>`;
  });
  const caption = 'Token keys: does the apiserver accept tokens that they sign';
  return table({ id, caption, head: ['Key', ...hosts.map((host) => name(host)), 'Signs for'], rows });
};

const ORDER: readonly Mark[] = ['no', 'unknown', 'yes'];

/** Authority × verifier. Verifiers that say the same are one row: of five hundred kubelets, the one that differs is seen. */
const authorityTable = ({ authorities }: ClusterReport, id: string): Markup => {
  const rows = authorities
    .flatMap(({ channel, name: authority, kid, presenters, verifiers }) =>
      groupBy(verifiers, ({ named, disk, loaded }) => `${disk} ${loaded} ${named}`).flatMap((same) => {
        const [first] = same;
        return first
          ? [{ channel, authority, kid, presenters, ...first, processes: same.map((each) => each.process) }]
          : [];
      }),
    )
    .sort((a, b) => ORDER.indexOf(verdictOf(a)) - ORDER.indexOf(verdictOf(b)))
    .map(
      ({ channel, authority, kid, presenters, processes, named, disk, loaded }) =>
        markup`<tr><th scope="row">${channel}</th>${markCell({ disk, loaded })}<td>${places(processes)} <small>${named}</small></td><td>${name(authority)}${kid === undefined ? undefined : markup` <code>${shortKid(kid)}</code>`}</td><td>${places(presenters)}</td></tr>`,
    );
  const caption = 'Authorities: who trusts what is shown; where it is refused first';
  return table({ id, caption, head: ['Channel', 'Trusted', 'By', 'Authority', 'Shown by'], rows });
};

/** Who accepts whose tokens, and who trusts whose certificates. */
export const trustMatrix = (cluster: ClusterReport, id: string): Markup =>
  cluster.keys.length === 0 && cluster.authorities.length === 0
    ? markup`<p>Nothing was seen that checks anything.</p>`
    : markup`${cluster.keys.length > 0 ? keyTable(cluster, `${id}-keys`) : undefined}${cluster.authorities.length > 0 ? authorityTable(cluster, `${id}-authorities`) : undefined}`;
