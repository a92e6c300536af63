import { Chalk } from 'chalk';
import type { World } from '../trust/world.js';
import { renderTable } from './table.js';

/** Keys by the processes that sign with them now; those that nothing signs with last. */
export interface KeyRow {
  readonly kid: string;
  readonly signers: readonly string[];
  readonly state: string | undefined;
  /** Apiserver host → whether its running process accepts tokens of this key. */
  readonly accepted: ReadonlyMap<string, boolean>;
}

/** `kube-apiserver@cp1.example.net` as `apiserver@cp1`. */
const shortProcess = (id: string): string => id.replace(/^kube-/, '').replace(/@([^.]+).*/, '@$1');

/** The trust matrix of a world: kid × apiserver, by what each running process has loaded. */
export const trustMatrix = (world: World): readonly KeyRow[] => {
  const signers = new Map<string, string[]>();
  const kids = new Set<string>();
  const apiservers = new Map<string, ReadonlySet<string>>();
  for (const host of world.hosts.values()) {
    for (const service of host.services.values()) {
      const { signs, verifies } = service.loaded;
      if (signs !== undefined)
        signers.set(signs, [...(signers.get(signs) ?? []), `${service.service}@${host.name}`]);
      if (service.service === 'kube-apiserver') apiservers.set(host.name, new Set(verifies));
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

/** The trust matrix as text: one row a key, one column an apiserver. */
export const renderMatrix = (world: World, style: MatrixStyle): string => {
  const chalk = new Chalk({ level: style.color ? 1 : 0 });
  const yes = chalk.green(style.unicode ? '✔ accepted' : 'accepted');
  const no = chalk.red(style.unicode ? '✘ refused' : 'REFUSED');
  const hosts = [...world.hosts.keys()];
  const rows = trustMatrix(world).map((row) => [
    row.kid.slice(0, 12),
    row.state ?? '-',
    ...hosts.map((host) =>
      row.accepted.get(host) === true
        ? yes
        : row.signers.length > 0 || row.state === 'soaking'
          ? no
          : chalk.dim('not listed'),
    ),
    row.signers.length > 0 ? row.signers.map(shortProcess).join(', ') : chalk.dim('nothing signs with it'),
  ]);
  const header = ['KID', 'STATE', ...hosts.map((host) => host.split('.')[0] ?? host), 'SIGNS FOR'].map(
    (cell) => chalk.bold(cell),
  );
  return renderTable([header, ...rows]);
};
