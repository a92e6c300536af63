import { isIP } from 'node:net';
import { CertrollError, messageOf } from '../../core/errors.js';
import { judgeHostKey } from '../../doctor/advice.js';
import { failed, ok, type CheckId, type Verdict } from '../../doctor/check.js';
import { verdictOf, type Checklist } from '../../doctor/checklist.js';
import type { Host } from '../../hosts/host.js';
import type { SshTarget } from '../../hosts/ssh-config.js';
import type { DoctorDoors } from './doors.js';

/** Through a jump host neither the name nor the port is this machine's business. */
const isDirect = ({ jumps, proxyCommand }: SshTarget): boolean =>
  jumps.length === 0 && proxyCommand === undefined;

/** Which check an error of SSH belongs to. */
const PLACES: Readonly<Record<string, CheckId>> = {
  'ssh.host-key': 'host-key',
  'ssh.known-hosts': 'host-key',
  'ssh.unreachable': 'tcp',
  'ssh.auth': 'login',
  'ssh.config': 'login',
};

const sshFailure = async (
  thrown: unknown,
  target: SshTarget,
  doors: DoctorDoors,
): Promise<{ readonly id: CheckId; readonly verdict: Verdict }> => {
  if (!(thrown instanceof CertrollError)) throw thrown;
  const id = PLACES[thrown.code] ?? 'login';
  if (thrown.code !== 'ssh.host-key') return { id, verdict: verdictOf(thrown) };
  const presented = isDirect(target) ? await doors.presentedKey(target) : undefined;
  // The transports tell the fingerprint in words of their own.
  const message = thrown.message.replace(/ \(it presents [^)]*\)$/, '');
  const { hostname, port, knownHostsFiles } = target;
  return {
    id,
    verdict: judgeHostKey(message, presented, { hostname, port, knownHostsFile: knownHostsFiles[0] }),
  };
};

/** The first word is sent: it takes a connection, a known host key and a login. */
const logIn = async (
  list: Checklist,
  host: Host,
  target: SshTarget,
  doors: DoctorDoors,
): Promise<boolean> => {
  const trouble = await host.run(['true'], { sudo: false, readOnly: true }).then(
    () => undefined,
    async (thrown: unknown) => sshFailure(thrown, target, doors),
  );
  const at = `${target.hostname} port ${target.port}`;
  const steps: readonly (readonly [CheckId, string])[] = [
    ['tcp', isDirect(target) ? at : `${at}, through ${target.jumps.join(', ') || 'a ProxyCommand'}`],
    ['host-key', 'known'],
    ['login', `as ${target.user}`],
  ];
  const needs: readonly CheckId[] = ['ssh-identity', 'name'];
  for (const [index, [id, text]] of steps.entries()) {
    const before = [...needs, ...steps.slice(0, index).map(([each]) => each)];
    // That there is no key to log in with does not matter before the login.
    const after = id === 'login' ? before : before.filter((each) => each !== 'ssh-identity');
    await list.check(id, after, () => (trouble?.id === id ? trouble.verdict : ok(text)));
  }
  return list.isWell('login');
};

const checkName = async (target: SshTarget, doors: DoctorDoors): Promise<Verdict> => {
  const { hostname, name } = target;
  const via = hostname === name ? '' : `${hostname} by ssh_config`;
  if (isIP(hostname) !== 0 || !isDirect(target)) return ok(via || hostname);
  try {
    const addresses = await doors.addresses(hostname);
    return ok([via, addresses.join(', ')].filter(Boolean).join(': '));
  } catch (thrown) {
    return failed(
      `${hostname} has no address here: ${messageOf(thrown)}`,
      `See 'getent hosts ${hostname}': add it to DNS or /etc/hosts, give it a HostName in ssh_config, or mend its name in the cluster file.`,
    );
  }
};

const checkSudo = async (host: Host, target: SshTarget, doors: DoctorDoors): Promise<Verdict> => {
  const { sudo } = doors.cluster.ssh;
  const { stdout } = await host.run(['id', '-u'], { readOnly: true });
  const uid = stdout.toString().trim();
  if (!sudo || target.user === 'root')
    return ok(target.user === 'root' ? 'not needed: root logs in' : 'not used (ssh.sudo: false)');
  return uid === '0'
    ? ok('without a password')
    : failed(
        `sudo runs commands as the user ${uid} there, not as root`,
        `Let it: '${target.user} ALL=(root) NOPASSWD: ALL' in /etc/sudoers.d/certroll (visudo -f).`,
      );
};

/**
 * Everything up to the first command as root: name, port, host key, login, sudo. Tells whether commands can be run.
 */
export const checkSsh = async (
  list: Checklist,
  host: Host,
  target: SshTarget,
  doors: DoctorDoors,
): Promise<boolean> => {
  if (await list.check('name', [], async () => checkName(target, doors)))
    await logIn(list, host, target, doors);
  else for (const id of ['tcp', 'host-key', 'login'] as const) await list.check(id, ['name'], () => ok(''));
  return list.check('sudo', ['name', 'tcp', 'host-key', 'login'], async () => checkSudo(host, target, doors));
};
