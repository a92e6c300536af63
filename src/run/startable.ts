import { isIP } from 'node:net';
import type { Doors } from '../changes/change.js';
import { changesOf, type Plan } from '../changes/plan.js';
import { CertrollError, EXIT } from '../core/errors.js';
import type { RunningService } from '../hosts/host.js';
import { serviceKind } from '../hosts/services/index.js';
import { parseStartFiles, type StartFiles } from '../kube/flags.js';
import type { ServiceName } from '../trust/world.js';
import { filesToRead, startProblems, type StartProblem } from './start-problems.js';

/** The doors to hosts and their services. */
type HostDoors = Pick<Doors, 'host' | 'service'>;

/** Milliseconds for one new connection to an etcd member. */
const ETCD_TIMEOUT_S = 5;

/**
 * Which of the files the user of the service may not read; arguments: USER FILE… Read access is tried as that user,
 * since groups, folders and ACLs decide too, not the file's mode alone. Of a container the user is `UID:GID:GROUP,…`, since the
 * host need not know him.
 */
const READABLE_SCRIPT = `
user=$1
shift
test_all='for each; do [ -r "$each" ] || printf "%s\\n" "$each"; done'
case $user in
  0:*) exit 0 ;;
  *:*)
    ids=\${user%:*} groups=--groups=\${user##*:}
    [ -n "\${user##*:}" ] || groups=--clear-groups
    set -- setpriv --reuid "\${ids%:*}" --regid "\${ids#*:}" "$groups" -- sh -c "$test_all" sh "$@" ;;
  "$(id -un)") set -- sh -c "$test_all" sh "$@" ;;
  *) set -- runuser -u "$user" -- sh -c "$test_all" sh "$@" ;;
esac
if [ "$1" = sh ] || { [ "$(id -u)" = 0 ] && command -v "$1" >/dev/null 2>&1; }; then "$@"; fi
`;

/**
 * Opens a new connection to etcd with the service's own pair and asks for its health: a connection that has been open
 * for months says nothing. Arguments: the words of openssl s_client.
 */
const ETCD_SCRIPT = `
answer=$(printf 'GET /health HTTP/1.0\\r\\n\\r\\n' | timeout ${ETCD_TIMEOUT_S} openssl s_client -quiet -verify_return_error "$@" 2>&1) || :
case $answer in
  *'HTTP/1.'*) exit 0 ;;
esac
printf '%s\\n' "$answer" | grep -iE 'alert|verify error|errno|refused|error' | head -n 2 >&2
exit 1
`;

/** Root in a container reads what it likes, as root elsewhere. */
const userOf = ({ user, pod }: RunningService): string =>
  pod ? [pod.userId, pod.groupId, pod.groups.join(',')].join(':') : user;

const unreadable = async (
  host: string,
  fact: RunningService,
  files: StartFiles,
  doors: HostDoors,
): Promise<readonly StartProblem[]> => {
  const { privateKeys, publicFiles } = filesToRead(files);
  const paths = [...privateKeys, ...publicFiles, ...files.others];
  const { stdout } = await doors
    .host(host)
    .run(['sh', '-c', READABLE_SCRIPT, 'certroll', userOf(fact), ...paths], { readOnly: true });
  return stdout
    .toString()
    .split('\n')
    .filter((path) => path !== '')
    .map((path) => ({ path, text: `cannot be read by the user ${fact.user}, which the service runs as` }));
};

const connectWords = (url: string, { etcdPair, etcdBundle }: StartFiles): readonly string[] | undefined => {
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== 'https:') return undefined;
  const name = hostname.replace(/^\[|\]$/g, '');
  return [
    ...['-connect', `${hostname}:${port === '' ? '443' : port}`],
    ...(isIP(name) === 0 ? ['-verify_hostname', name, '-servername', name] : ['-verify_ip', name]),
    ...(etcdPair ? ['-cert', etcdPair.certificate, '-key', etcdPair.key] : []),
    ...(etcdBundle === undefined ? [] : ['-CAfile', etcdBundle]),
  ];
};

/** What openssl says, without the numbers before it. */
const reasonIn = (stderr: string): string =>
  (stderr.trim().split('\n')[0] ?? '').replace(/^[0-9A-F]+:error:[0-9A-F]+:/, '').replace(/:\.\.\/.*$/, '') ||
  'no answer';

/** At least one member must answer the service's own pair; which one a restart would take is not ours to say. */
const unreachableEtcd = async (
  host: string,
  files: StartFiles,
  doors: HostDoors,
): Promise<readonly StartProblem[]> => {
  const failures: string[] = [];
  for (const url of files.etcdServers) {
    const words = connectWords(url, files);
    if (!words) return [];
    const { exitCode, stderr } = await doors
      .host(host)
      .run(['sh', '-c', ETCD_SCRIPT, 'certroll', ...words], { readOnly: true, okCodes: [0, 1] });
    if (exitCode === 0) return [];
    failures.push(`${url}: ${reasonIn(stderr)}`);
  }
  return failures.length === 0
    ? []
    : [
        {
          path: files.etcdPair?.certificate ?? 'etcd',
          text: `no etcd member takes a new connection from this host: ${failures.join('; ')}`,
        },
      ];
};

/** Without what lies in the container of a pod: the image holds it, no change of the host touches it. Keys are never there. */
const ofHost = (files: StartFiles, { pod }: RunningService): StartFiles => ({
  ...files,
  others: files.others.filter((path) => pod?.foreign.includes(path) !== true),
});

const problemsOf = async (
  host: string,
  service: ServiceName,
  fact: RunningService,
  doors: HostDoors,
): Promise<readonly string[]> => {
  const files = ofHost(parseStartFiles(fact.nextArgv ?? fact.argv), fact);
  const facts = await doors.host(host).readFacts(filesToRead(files));
  const inFiles = [...startProblems(files, facts.files), ...(await unreadable(host, fact, files, doors))];
  // A connection with files that are wrong would only say so once more.
  const found = inFiles.length > 0 ? inFiles : await unreachableEtcd(host, files, doors);
  return [...new Set(found.map(({ path, text }) => `its ${service} could not start again: ${path} ${text}`))];
};

/** Why services of a host could not be started again now: their restart command, flags, files, rights, their way to etcd. */
export const whyNotStartable = async (
  host: string,
  services: readonly ServiceName[],
  doors: HostDoors,
): Promise<readonly string[]> => {
  const specs = Object.fromEntries(services.map((name) => [name, doors.service(host, name)]));
  const facts = await doors.host(host).readFacts({ services: specs });
  const texts: string[] = [];
  for (const service of services) {
    const fact = facts.services.get(service);
    const spec = doors.service(host, service);
    if (fact) texts.push(...(await serviceKind(spec).obstacles(spec, fact, doors.host(host))));
    if (fact?.running === true) texts.push(...(await problemsOf(host, service, fact, doors)));
  }
  return texts;
};

/**
 * Whether every control plane could be restarted now: the flags it would be started with, each file as its reader reads
 * it, keys and their certificates, the rights of its user, etcd through its own pair. A fault that has been sleeping on
 * the last host must stop the run before the first one is touched. Throws `preflight.cannot-start` (exit 4).
 */
export const checkStartable = async (plan: Plan, doors: Doors): Promise<void> => {
  const services = new Set(
    changesOf(plan).flatMap((change) => (change.kind === 'restart-service' ? [change.service] : [])),
  );
  if (services.size === 0) return;
  const found = await Promise.all(
    doors.apiHosts.map(async (host) =>
      (await whyNotStartable(host, [...services], doors)).map((text) => ({ host, text })),
    ),
  );
  const [first, ...more] = found.flat();
  if (!first) return;
  const others = more.map(({ host, text }) => `; ${host}: ${text}`).join('');
  throw new CertrollError(`${first.host}: ${first.text}${others}`, {
    code: 'preflight.cannot-start',
    exit: EXIT.refused,
    host: first.host,
    hint: 'Nothing was touched: the running processes go on with what they have loaded, and any restart would be an outage there. Mend it, then run again.',
  });
};
