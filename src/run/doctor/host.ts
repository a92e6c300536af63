import { dirname } from 'node:path/posix';
import { CertrollError } from '../../core/errors.js';
import { failed, ok, type CheckId, type Verdict } from '../../doctor/check.js';
import type { Checklist } from '../../doctor/checklist.js';
import { judgeKeyFiles, judgeService } from '../../doctor/services.js';
import { judgeTools } from '../../doctor/tools.js';
import type { Host, HostFacts, ServiceSpec } from '../../hosts/host.js';
import type { SshTarget } from '../../hosts/ssh-config.js';
import { inspect } from '../../hosts/inspect.js';
import { parseTools, toolsScript } from '../../hosts/tools.js';
import type { ApiServer } from '../../kube/api-server.js';
import { parseApiserverFlags, type ApiserverFlags } from '../../kube/flags.js';
import type { ServiceName } from '../../trust/world.js';
import { checkSameProcessOn } from '../same-process.js';
import { whyNotStartable } from '../startable.js';
import type { DoctorDoors } from './doors.js';
import { checkSsh } from './ssh.js';

/** What a host told besides its checks. */
export interface SeenOfHost {
  /** Host's clock minus the bastion's, milliseconds; undefined where it could not be asked. */
  readonly clockOffsetMs: number | undefined;
}

/** What it takes to run a command as root there. */
const BEFORE: readonly CheckId[] = ['name', 'tcp', 'host-key', 'login', 'sudo'];

const SERVICES: readonly ServiceName[] = ['kube-apiserver', 'kube-controller-manager'];

/** Programs that only some hosts need. */
const moreTools = (specs: readonly ServiceSpec[]): readonly string[] => [
  ...(specs.some(({ kind }) => kind === 'systemd') ? ['systemctl'] : []),
  ...['runuser', 'setpriv'],
];

const checkTools = async (host: Host, specs: readonly ServiceSpec[]): Promise<Verdict> => {
  const { stdout } = await host.run(['sh', '-s'], { stdin: toolsScript(moreTools(specs)), readOnly: true });
  return judgeTools(parseTools(stdout.toString()));
};

/** Where else a program of that name runs, for the one who wrote the wrong name into the cluster file. */
const foundElsewhere = async (host: Host, service: ServiceName): Promise<readonly string[]> => {
  const { processes } = await inspect(host, { programs: [service] });
  return processes.map(({ pid, unit }) =>
    unit === undefined ? `a process ${pid} that is no unit's` : `the unit ${unit}`,
  );
};

const checkService = async (
  host: Host,
  service: ServiceName,
  spec: ServiceSpec,
  facts: HostFacts,
): Promise<Verdict> => {
  const fact = facts.services.get(service);
  if (fact?.running === true) return judgeService({ service, spec, fact, elsewhere: [] });
  const elsewhere = await foundElsewhere(host, service);
  return judgeService({ service, spec, fact, elsewhere });
};

/** The files that a rotation changes: the signing key and the verification files. */
const keyFilesOf = ({ signingKeyFile, keyFiles }: ApiserverFlags) => ({
  privateKeys: signingKeyFile === undefined ? [] : [signingKeyFile],
  publicFiles: keyFiles.filter((path) => path !== signingKeyFile),
});

const checkFreeSpace = async (host: Host, folders: readonly string[], least: number): Promise<Verdict> => {
  const { freeBytes } = await host.readFacts({ freeSpaceOf: folders });
  const [smallest] = [...freeBytes].sort(([, one], [, other]) => one - other);
  if (!smallest) return ok('nothing is written there');
  const [folder, free] = smallest;
  return free >= least
    ? ok(`${Math.floor(free / 1e6)} MB in ${folder}`)
    : failed(
        `${folder} has ${free} bytes free, fewer than ${least} (thresholds.freeSpace)`,
        'Make room on that file system: keys are staged beside the live ones.',
      );
};

const checkStartable = async (
  host: Host,
  services: readonly ServiceName[],
  doors: DoctorDoors,
): Promise<Verdict> => {
  const texts = await whyNotStartable(host.name, services, {
    host: () => host,
    service: (name, service) => serviceOf(doors, name, service),
  });
  return texts.length === 0
    ? ok('flags, files, rights, its own way to etcd')
    : failed(
        texts.join('; '),
        'The running process goes on with what it has loaded; its next start would fail. Mend the files or flags before anything restarts it.',
      );
};

const serviceOf = (doors: DoctorDoors, host: string, service: ServiceName): ServiceSpec => {
  const spec = doors.service(host, service);
  if (spec) return spec;
  throw new CertrollError(`the cluster file says that no ${service} runs on ${host}`, {
    code: 'run.no-service',
    host,
  });
};

/** What `readFacts` gives for the services of a host, or why it gives nothing. */
type Reading = { readonly facts: HostFacts } | { readonly error: CertrollError } | undefined;

const readServices = async (
  host: Host,
  wanted: readonly ServiceName[],
  doors: DoctorDoors,
): Promise<Reading> => {
  const services = Object.fromEntries(
    wanted.map((service) => [service, serviceOf(doors, host.name, service)]),
  );
  try {
    return { facts: await host.readFacts({ services }) };
  } catch (thrown) {
    if (thrown instanceof CertrollError) return { error: thrown };
    throw thrown;
  }
};

/** Its services, the files they sign and verify with, and whether they would come back after a restart. */
const checkServices = async (
  list: Checklist,
  host: Host,
  wanted: readonly ServiceName[],
  reading: Reading,
  doors: DoctorDoors,
): Promise<void> => {
  const facts = reading && 'facts' in reading ? reading.facts : undefined;
  for (const service of wanted)
    await list.check(service, [...BEFORE, 'tools'], async () => {
      if (reading && 'error' in reading) throw reading.error;
      return facts ? checkService(host, service, serviceOf(doors, host.name, service), facts) : ok('');
    });
  const fact = facts?.services.get('kube-apiserver');
  const flags = parseApiserverFlags(fact?.running === true ? fact.argv : []);
  const files = keyFilesOf(flags);
  await list.check('key-files', ['kube-apiserver'], async () => {
    const read = await host.readFacts(files);
    return judgeKeyFiles(flags, read.files, doors.cluster.serviceAccounts.bundle);
  });
  const folders = [...new Set([...files.privateKeys, ...files.publicFiles].map((path) => dirname(path)))];
  await list.check('free-space', ['kube-apiserver'], async () =>
    checkFreeSpace(host, folders, doors.cluster.thresholds.freeSpace),
  );
  await list.check('startable', [...wanted, 'key-files'], async () => checkStartable(host, wanted, doors));
};

/** All checks of a host that go over SSH. `role`: a node only has to be looked at, by an audit. */
export const checkHost = async (
  list: Checklist,
  name: string,
  role: 'control-plane' | 'node',
  doors: DoctorDoors,
  api: () => Promise<ApiServer | undefined>,
): Promise<SeenOfHost> => {
  let target: SshTarget | undefined;
  await list.check('ssh-config', [], async () => {
    target = await doors.route(name);
    return ok(`${target.user}@${target.hostname}, port ${target.port}`);
  });
  if (!target) return { clockOffsetMs: undefined };
  const route = target;
  const wanted =
    role === 'node' ? [] : SERVICES.filter((service) => doors.service(name, service) !== undefined);
  return doors.withHost(name, async (host) => {
    await checkSsh(list, host, route, doors);
    const specs = wanted.map((service) => serviceOf(doors, name, service));
    const isUsable = await list.check('tools', BEFORE, async () => checkTools(host, specs));
    const reading = isUsable ? await readServices(host, wanted, doors) : undefined;
    if (role === 'control-plane') {
      await checkServices(list, host, wanted, reading, doors);
      const apiserver = await api();
      await list.check('same-process', ['kube-apiserver', 'api'], async () => {
        if (!apiserver) return ok('');
        await checkSameProcessOn(name, {
          host: () => host,
          service: (each, service) => serviceOf(doors, each, service),
          api: () => apiserver,
        });
        return ok('what answers the API is the process on this host');
      });
    }
    return { clockOffsetMs: reading && 'facts' in reading ? reading.facts.clockOffsetMs : undefined };
  });
};
