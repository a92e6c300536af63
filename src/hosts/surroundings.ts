import type { Host } from './host.js';

/** What a host tells of itself and of some of its processes. */
export interface Surroundings {
  /** Its full name by its own resolver; undefined where that gives none. */
  readonly fullName: string | undefined;
  /** pid → /proc/PID/cgroup. */
  readonly cgroups: ReadonlyMap<number, string>;
  /** Names of locks that units and cron jobs take with `etcdctl lock`. */
  readonly lockNames: readonly string[];
  /** Whether kubectl is there, and the kubeconfig that kubeadm makes. */
  readonly hasAdminConf: boolean;
}

/** Where kubeadm puts the kubeconfig of the cluster's admin. */
export const ADMIN_CONF = '/etc/kubernetes/admin.conf';

/** Arguments: PID…. Read-only; a line each, what could hold anything in base64. */
const SCRIPT = `
LC_ALL=C PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH
enc() { base64 -w 0; echo; }
printf 'name '; hostname -f 2>/dev/null | enc
for pid; do printf 'cgroup %s ' "$pid"; cat "/proc/$pid/cgroup" 2>/dev/null | enc; done
printf 'locks '
grep -rhoE 'etcdctl[^;|&]* lock +[A-Za-z0-9_./-]+' /etc/systemd/system /lib/systemd/system /usr/lib/systemd/system \\
  /etc/cron.d /etc/crontab 2>/dev/null | sed 's/.* lock *//' | sort -u | enc
if [ -r ${ADMIN_CONF} ] && command -v kubectl >/dev/null 2>&1; then echo admin; fi
`;

const decode = (word = ''): string => Buffer.from(word, 'base64').toString();

/** Asks a host for its name, the control groups of processes, and who takes locks there. Throws the errors of `Host.run`. */
export const surroundingsOf = async (host: Host, pids: readonly number[]): Promise<Surroundings> => {
  const { stdout } = await host.run(['sh', '-c', SCRIPT, 'certroll', ...pids.map(String)], {
    readOnly: true,
  });
  const lines = stdout
    .toString()
    .split('\n')
    .map((line) => line.split(' '));
  const wordsOf = (kind: string): readonly string[] | undefined => lines.find(([first]) => first === kind);
  return {
    fullName: decode(wordsOf('name')?.[1]).trim() || undefined,
    cgroups: new Map(
      lines.flatMap(([kind, pid, text]) => (kind === 'cgroup' ? [[Number(pid), decode(text)] as const] : [])),
    ),
    lockNames: decode(wordsOf('locks')?.[1])
      .split('\n')
      .filter((each) => each !== ''),
    hasAdminConf: wordsOf('admin') !== undefined,
  };
};

/** Manifests in a folder that start a program of that name; only their paths come back. */
export const manifestsThatStart = async (
  host: Host,
  folder: string,
  program: string,
): Promise<readonly string[]> => {
  // As an item of `command:` in block style, or in a list in quotes; with a path before it or not.
  const pattern = `(^[[:space:]]*-[[:space:]]+|["'[,][[:space:]]*)["']?([^"'[:space:]]*/)?${program}["']?[[:space:]]*([],]|$)`;
  const script = 'for each in "$1"/*; do [ -f "$each" ] && grep -lE -e "$2" -- "$each"; done; :';
  const { stdout } = await host.run(['sh', '-c', script, 'certroll', folder, pattern], { readOnly: true });
  return stdout
    .toString()
    .split('\n')
    .filter((line) => line !== '' && !/\.(bak|old|swp)$|~$/.test(line));
};

/** Asks the API from the host itself, with its own admin's kubeconfig, which stays there. */
export const askFromHost = async (host: Host, path: string): Promise<unknown> => {
  const { stdout } = await host.run(
    ['kubectl', '--kubeconfig', ADMIN_CONF, '--request-timeout=20s', 'get', '--raw', path],
    { readOnly: true },
  );
  return JSON.parse(stdout.toString()) as unknown;
};
