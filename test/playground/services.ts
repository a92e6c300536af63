import { execa } from 'execa';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { userInfo } from 'node:os';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { startDaemon } from './daemons.js';
import { writePublicKey, type Pki } from './pki.js';
import { HOSTS, ISSUER, type Paths } from './settings.js';

/** Free ports on loopback, chosen once for a playground. */
export interface Ports {
  readonly etcd: number;
  readonly etcdPeer: number;
  readonly ssh: readonly number[];
  readonly api: readonly number[];
}

/** A real etcd of one member, with TLS and client certificates. */
export const startEtcd = async (at: Paths, ports: Ports): Promise<void> => {
  const client = `https://127.0.0.1:${ports.etcd}`;
  const peer = `http://127.0.0.1:${ports.etcdPeer}`;
  const options = {
    name: 'play',
    'data-dir': at.pki('../etcd-data'),
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `play=${peer}`,
    'trusted-ca-file': at.pki('ca.crt'),
    'cert-file': at.pki('etcd.crt'),
    'key-file': at.pki('etcd.key'),
    'client-cert-auth': 'true',
  };
  const argv = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  await startDaemon(['etcd', ...argv], { pid: at.pid('etcd'), log: at.pki('../etcd.log') });
};

const sshKey = async (path: string): Promise<string> => {
  await execa('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'certroll-playground', '-f', path]);
  return (await readFile(`${path}.pub`, 'utf8')).trim();
};

/** One real sshd per host, as the current user, and an ssh_config under which they have names. */
export const startSshds = async (dir: string, at: Paths, ports: Ports): Promise<void> => {
  // The folder that sshd wants as root; on a machine that runs it as a service it is there.
  if (userInfo().uid === 0) await mkdir('/run/sshd', { recursive: true, mode: 0o755 });
  const user = await sshKey(`${dir}/id_ed25519`);
  await writeFile(`${dir}/authorized_keys`, `${user}\n`, { mode: 0o600 });
  const known: string[] = [];
  const config: string[] = [];
  for (const [index, host] of HOSTS.entries()) {
    const port = ports.ssh[index] ?? 0;
    known.push(`${host} ${await sshKey(at.host(host, 'ssh_host_key'))}`);
    config.push(`Host ${host}`, '  HostName 127.0.0.1', `  Port ${port}`, `  HostKeyAlias ${host}`, '');
    const lines = [
      `ListenAddress 127.0.0.1:${port}`,
      `HostKey ${at.host(host, 'ssh_host_key')}`,
      `AuthorizedKeysFile ${dir}/authorized_keys`,
      `PidFile ${at.pid(`sshd-${host}`)}`,
      ...[
        'StrictModes no',
        'UsePAM no',
        'PasswordAuthentication no',
        'KbdInteractiveAuthentication no',
        'PermitRootLogin yes',
      ],
    ];
    await writeFile(at.host(host, 'sshd_config'), `${lines.join('\n')}\n`);
    await mkdir(at.pid('.'), { recursive: true });
    await execa('/usr/sbin/sshd', ['-f', at.host(host, 'sshd_config'), '-E', at.host(host, 'sshd.log')]);
  }
  config.push(
    'Host *',
    `  User ${userInfo().username}`,
    `  IdentityFile ${dir}/id_ed25519`,
    '  IdentitiesOnly yes',
    `  UserKnownHostsFile ${dir}/known_hosts`,
    '  StrictHostKeyChecking yes',
    '',
  );
  await writeFile(at.sshConfig, config.join('\n'));
  await writeFile(`${dir}/known_hosts`, `${known.join('\n')}\n`);
};

const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** The program that serves as apiserver: a real one when KUBE_APISERVER names it, else the stand-in. */
const apiserverProgram = (): readonly string[] => {
  const real = process.env['KUBE_APISERVER'];
  if (real !== undefined) return [real];
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
  return [process.execPath, '--import', loader, fileURLToPath(new URL('stand-in/main.ts', import.meta.url))];
};

const apiserverFlags = (host: string, port: number, at: Paths, ports: Ports): readonly string[] => {
  const flags = [
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--tls-cert-file=${at.host(host, 'pki/apiserver.crt')}`,
    `--tls-private-key-file=${at.host(host, 'pki/apiserver.key')}`,
    `--client-ca-file=${at.pki('ca.crt')}`,
    `--service-account-issuer=${ISSUER}`,
    `--service-account-signing-key-file=${at.host(host, 'pki/sa.key')}`,
    `--service-account-key-file=${at.host(host, 'pki/sa.crt')}`,
    `--service-account-key-file=${at.host(host, 'pki/sa-verification-keys.pem')}`,
    '--shutdown-delay-duration=1s',
  ];
  if (process.env['KUBE_APISERVER'] === undefined) return flags;
  return [
    ...flags,
    '--advertise-address=127.0.0.1',
    '--endpoint-reconciler-type=none',
    '--service-cluster-ip-range=10.96.0.0/24',
    '--authorization-mode=RBAC',
    `--etcd-servers=https://127.0.0.1:${ports.etcd}`,
    `--etcd-cafile=${at.pki('ca.crt')}`,
    `--etcd-certfile=${at.pki('client.crt')}`,
    `--etcd-keyfile=${at.pki('client.key')}`,
    `--cert-dir=${at.host(host, 'pki')}`,
  ];
};

/** Files of one control plane: serving certificate, its own signing key, a bundle of that key alone (the fault), and `ctl`. */
export const prepareControlPlane = async (
  host: string,
  index: number,
  pki: Pki,
  at: Paths,
  ports: Ports,
): Promise<void> => {
  await pki.leaf(at.host(host, 'pki/apiserver'), {
    ca: at.pki('ca'),
    subject: `/CN=${host}`,
    sans: ['DNS:kubernetes.default.svc', `DNS:${host}`, 'IP:127.0.0.1'],
  });
  await pki.leaf(at.host(host, 'pki/sa'), {
    ca: at.pki('sa-ca'),
    subject: `/CN=service-accounts ${host}`,
    rsa: true,
  });
  await writePublicKey(at.host(host, 'pki/sa.crt'), at.host(host, 'pki/sa-verification-keys.pem'));
  const command = [...apiserverProgram(), ...apiserverFlags(host, ports.api[index] ?? 0, at, ports)]
    .map(quote)
    .join(' ');
  const script = `#!/bin/sh
# Starts, stops or restarts the apiserver of ${host} in the certroll playground.
pid_file=${quote(at.pid(`apiserver-${host}`))}
stop() {
  pid=$(cat "$pid_file" 2>/dev/null) || return 0
  kill "$pid" 2>/dev/null || return 0
  while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
}
start() {
  nohup ${command} >>${quote(at.host(host, 'apiserver.log'))} 2>&1 </dev/null &
  echo $! >"$pid_file"
}
case $1 in
  start) start ;;
  stop) stop ;;
  restart) stop; start ;;
  *) echo "usage: $0 start|stop|restart" >&2; exit 2 ;;
esac
`;
  await writeFile(at.host(host, 'ctl'), script, { mode: 0o755 });
};
