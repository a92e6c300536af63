import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CACHE_DIR, IDS, LIMITED_PASSWORD, VERSIONS } from '../settings.js';
import { run, say } from '../shell.js';
import { secondsSince } from '../wait.js';

const PACKAGES = [
  'systemd',
  'systemd-sysv',
  'dbus',
  'openssh-server',
  'sudo',
  'iproute2',
  'ca-certificates',
  'openssl',
  'curl',
  'procps',
  'haproxy',
  'golang-cfssl',
  'libfaketime',
];

/**
 * Makes the fresh Debian tree into what all hosts share. The services stay off: each host turns on its
 * own. Host keys and machine-id go, since two machines must never have the same.
 */
const CUSTOMISE = `
set -eu
useradd --system --uid ${IDS.kube} --user-group --home-dir /var/lib/kube --create-home --shell /usr/sbin/nologin kube
useradd --system --uid ${IDS.etcd} --user-group --home-dir /var/lib/etcd --create-home --shell /usr/sbin/nologin etcd
useradd --system --uid ${IDS.cfssl} --user-group --home-dir /var/lib/cfssl --create-home --shell /usr/sbin/nologin cfssl
chmod 0700 /var/lib/etcd
useradd --uid ${IDS.certroll} --user-group --create-home --shell /bin/bash --password '*' certroll
useradd --uid ${IDS.limited} --user-group --create-home --shell /bin/bash limited
printf 'limited:%s\\n' '${LIMITED_PASSWORD}' | chpasswd
cat > /etc/sudoers.d/lab <<'SUDO'
certroll ALL=(ALL:ALL) NOPASSWD: ALL
limited ALL=(ALL:ALL) ALL
SUDO
chmod 0440 /etc/sudoers.d/lab
cat > /etc/ssh/sshd_config.d/lab.conf <<'SSHD'
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin no
UseDNS no
AuthorizedKeysFile /etc/ssh/authorized_keys.d/%u
SSHD
mkdir -p /etc/ssh/authorized_keys.d
rm -f /etc/ssh/ssh_host_* /etc/machine-id /var/lib/dbus/machine-id /etc/resolv.conf /etc/hostname
systemctl -q disable haproxy.service apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer || true
systemctl -q mask console-getty.service getty.target
apt-get clean
rm -rf /var/lib/apt/lists/*
`;

const key = createHash('sha256')
  .update(JSON.stringify([VERSIONS.debian, PACKAGES, CUSTOMISE]))
  .digest('hex')
  .slice(0, 8);

/** The tree under all hosts, by the recipe that made it: a changed recipe makes another tree. */
export const BASE_DIR = join(CACHE_DIR, `base-${VERSIONS.debian}-${key}`);

/** Makes the base tree with debootstrap unless the cache has it. */
export const ensureBase = async (): Promise<void> => {
  if (existsSync(BASE_DIR)) return;
  const started = Date.now();
  say('making the base tree of the hosts with debootstrap; takes a minute or two');
  const half = `${BASE_DIR}.part`;
  await rm(half, { recursive: true, force: true });
  await mkdir(half, { recursive: true });
  await run([
    'nice',
    'debootstrap',
    '--variant=minbase',
    `--include=${PACKAGES.join(',')}`,
    VERSIONS.debian,
    half,
  ]);
  await run(['chroot', half, '/bin/sh', '-s'], {
    input: CUSTOMISE,
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
  });
  await rename(half, BASE_DIR);
  say(`made the base tree in ${secondsSince(started)} s`);
};
