import { Chalk } from 'chalk';
import { formatDuration } from '../core/duration.js';
import { lastSigned } from '../trust/live.js';
import type { World } from '../trust/world.js';
import { shortKid } from './kids.js';
import { shortNames, shortProcess } from './names.js';
import { renderTable } from './table.js';

/** Keys by the processes that sign with them now; those that nothing signs with last. */
export interface KeyRow {
  readonly kid: string;
  readonly signers: readonly string[];
  readonly state: string | undefined;
  /** Apiserver host → whether its running process accepts tokens of this key; none where that could not be seen. */
  readonly accepted: ReadonlyMap<string, boolean>;
}

/** The trust matrix of a world: kid × apiserver, by what each running process has loaded. */
export const trustMatrix = (world: World): readonly KeyRow[] => {
  const signers = new Map<string, string[]>();
  const kids = new Set<string>();
  const apiservers = new Map<string, ReadonlySet<string>>();
  for (const host of world.hosts.values()) {
    for (const service of host.services.values()) {
      const { signs, verifies, how } = service.loaded;
      if (signs !== undefined)
        signers.set(signs, [...(signers.get(signs) ?? []), `${service.service}@${host.name}`]);
      if (service.service === 'kube-apiserver' && how !== 'unknown')
        apiservers.set(host.name, new Set(verifies));
      for (const kid of [...verifies, ...(signs === undefined ? [] : [signs])]) kids.add(kid);
    }
  }
  const rows = [...kids].map((kid) => ({
    kid,
    signers: signers.get(kid) ?? [],
    state: world.keys.get(kid)?.state,
    accepted: new Map([...apiservers].map(([host, verifies]) => [host, verifies.has(kid)])),
  }));
  const rank = (row: KeyRow): string => `${row.signers.length > 0 ? 0 : 1}${row.signers[0] ?? ''}${row.kid}`;
  return rows.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
};

export interface MatrixStyle {
  readonly color: boolean;
  readonly unicode: boolean;
}

/** What the STATE column says, in the order that a key comes to them. */
export const STATE_LEGEND =
  'STATE: issued, published, accepted by all, promoted (signs), soaking (old, for how long; trusted while its tokens live), retired; - not on record';

/** The state on record; of a soaking key, with the time since it last signed. */
const stateOf = ({ kid, state }: KeyRow, world: World): string => {
  const record = world.keys.get(kid);
  const since = record?.state === 'soaking' ? lastSigned(record) : undefined;
  return since ? `soaking ${formatDuration(world.now.getTime() - since.getTime())}` : (state ?? '-');
};

/** The trust matrix as text: one row a key, one column an apiserver. */
export const renderMatrix = (world: World, style: MatrixStyle): string => {
  const chalk = new Chalk({ level: style.color ? 1 : 0 });
  const yes = chalk.green(style.unicode ? '✔ accepted' : 'accepted');
  const no = chalk.red(style.unicode ? '✘ refused' : 'REFUSED');
  const unseen = chalk.yellow('? unknown');
  const hosts = [...world.hosts.keys()];
  const names = shortNames(hosts);
  const cellOf = (row: KeyRow, host: string): string => {
    const accepted = row.accepted.get(host);
    if (accepted === undefined) return unseen;
    if (accepted) return yes;
    // Only a key whose tokens are about must be listed.
    return row.signers.length > 0 || row.state === 'soaking' ? no : chalk.dim('not listed');
  };
  const rows = trustMatrix(world).map((row) => [
    shortKid(row.kid),
    stateOf(row, world),
    ...hosts.map((host) => cellOf(row, host)),
    row.signers.map((id) => shortProcess(id, names)).join(', ') || chalk.dim('nothing signs with it'),
  ]);
  const header = ['KID', 'STATE', ...hosts.map((host) => names.get(host) ?? host), 'SIGNS FOR'].map((cell) =>
    chalk.bold(cell),
  );
  return renderTable([header, ...rows]);
};
