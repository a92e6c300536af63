import { execa } from 'execa';
import { readFile, writeFile } from 'node:fs/promises';
import { writePublicKey, type Pki } from './pki.js';
import type { Ports } from './ports.js';
import { API_NAME, MARK, realApiserver, runTypeScript, TOKEN_ISSUER, type Layout } from './settings.js';

/** A word of a shell script. */
const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** What only the real one needs: the stand-in stores nothing. */
const realFlags = (host: string, at: Layout, ports: Ports): readonly string[] => [
  '--advertise-address=127.0.0.1',
  '--endpoint-reconciler-type=none',
  '--service-cluster-ip-range=10.96.0.0/24',
  '--authorization-mode=RBAC',
  `--cert-dir=${at.host(host, 'run')}`,
  `--etcd-servers=https://127.0.0.1:${ports.etcd}`,
  `--etcd-cafile=${at.pki('etcd-ca.crt')}`,
  `--etcd-certfile=${at.pki('etcd-client.crt')}`,
  `--etcd-keyfile=${at.pki('etcd-client.key')}`,
];

const command = (host: string, at: Layout, ports: Ports): readonly string[] => {
  const real = realApiserver();
  return [
    ...(real === undefined ? [...runTypeScript('apiserver/cli.ts'), 'stand-in-for-kube-apiserver'] : [real]),
    '--bind-address=127.0.0.1',
    `--secure-port=${ports.api[host] ?? 0}`,
    `--tls-cert-file=${at.host(host, 'apiserver.crt')}`,
    `--tls-private-key-file=${at.host(host, 'apiserver.key')}`,
    `--client-ca-file=${at.pki('ca.crt')}`,
    `--service-account-issuer=${TOKEN_ISSUER}`,
    `--service-account-signing-key-file=${at.host(host, 'sa.key')}`,
    `--service-account-key-file=${at.host(host, 'sa.crt')}`,
    `--service-account-key-file=${at.host(host, 'sa-verification-keys.pem')}`,
    '--shutdown-delay-duration=500ms',
    ...(real === undefined ? [] : realFlags(host, at, ports)),
  ];
};

/** Asks until the apiserver is ready, with node because curl is not on every machine; fails when its process ended. */
const waitUntilReady = `
const [port, ca, pid] = process.argv.slice(1);
const again = (why) => {
  try { process.kill(Number(pid), 0); } catch { console.error("the apiserver ended; see its log"); process.exit(1); }
  if (process.uptime() > 90) { console.error("the apiserver is not ready: " + why); process.exit(1); }
  setTimeout(ask, 50);
};
const ask = () => {
  const options = { host: "127.0.0.1", port, path: "/readyz", servername: "${API_NAME}", agent: false,
    ca: require("node:fs").readFileSync(ca), signal: AbortSignal.timeout(5000) };
  require("node:https").get(options, (answer) => {
    answer.resume().on("error", () => {}).on("end", () => {
      if (answer.statusCode === 200) process.exit(0); else again("HTTP " + answer.statusCode);
    });
  }).on("error", (error) => again(error.message));
};
ask();`;

const ctl = (host: string, at: Layout, ports: Ports, endsAt: number): string => `#!/bin/sh
# Starts, stops and restarts the apiserver of ${host} in a certroll playground, as systemctl would do elsewhere.
set -eu
base=${quote(at.host(host, 'apiserver'))}
export ${MARK}=${quote(at.dir)} CERTROLL_PLAYGROUND_ENDS=${endsAt}

# When the process started, in ticks since boot; nothing for one that is gone. A pid alone may be another's by now.
start_of() {
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
  set -- \${stat##*) }
  case $1 in Z | X) ;; *) shift 19; echo "$1" ;; esac
}
runs() {
  pid=$(cat "$base.pid" 2>/dev/null) && started=$(cat "$base.start" 2>/dev/null) && [ -n "$started" ] &&
    [ "$(start_of "$pid")" = "$started" ]
}
stop() {
  tries=0
  while runs; do
    case $tries in 0) kill "$pid" ;; 300) kill -KILL "$pid" ;; esac
    tries=$((tries + 1))
    sleep 0.1
  done
  rm -f "$base.pid" "$base.start"
}
start() {
  if runs; then return; fi
  setsid ${command(host, at, ports).map(quote).join(' ')} >>"$base.log" 2>&1 </dev/null 9>&- &
  pid=$!
  start_of "$pid" >"$base.start"
  echo "$pid" >"$base.pid.new"
  mv "$base.pid.new" "$base.pid"
  ${quote(process.execPath)} -e ${quote(waitUntilReady)} ${ports.api[host] ?? 0} ${quote(at.pki('ca.crt'))} "$pid" 9>&-
}

# One at a time: who asked may have died and asked again.
exec 9>"$base.lock"
flock 9
case \${1:-} in
  start) start ;;
  stop) stop ;;
  restart) stop; start ;;
  *) echo "usage: $0 start|stop|restart" >&2; exit 2 ;;
esac
`;

export interface ControlPlanePlan {
  readonly pki: Pki;
  readonly at: Layout;
  readonly ports: Ports;
  /** When the stand-in ends by itself, in milliseconds since the epoch. */
  readonly endsAt: number;
}

/**
 * Makes the files of one control plane, with the fault: a signing key of its own, and verification files that hold
 * no other key. And `ctl`, that runs its apiserver.
 */
export const prepareControlPlane = async (host: string, plan: ControlPlanePlan): Promise<void> => {
  const { pki, at, ports, endsAt } = plan;
  await pki.leaf(at.host(host, 'apiserver'), {
    ca: at.pki('ca'),
    subject: `/CN=${host}`,
    sans: [`DNS:${API_NAME}`, `DNS:${host}`, 'IP:127.0.0.1'],
    usage: 'serverAuth',
  });
  await pki.leaf(at.host(host, 'sa'), {
    ca: at.pki('sa-ca'),
    subject: `/CN=service-accounts ${host}`,
    rsa: true,
  });
  await writePublicKey(at.host(host, 'sa.crt'), at.host(host, 'sa-verification-keys.pem'));
  await writeFile(at.host(host, 'ctl'), ctl(host, at, ports, endsAt), { mode: 0o755 });
};

/** Runs `ctl` of a host; a start or restart is over when the apiserver is ready. Throws with the end of its log. */
export const runCtl = async (host: string, at: Layout, verb: 'start' | 'stop' | 'restart'): Promise<void> => {
  const { exitCode, stderr } = await execa(at.host(host, 'ctl'), [verb], { stdin: 'ignore', reject: false });
  if (exitCode === 0) return;
  const log = await readFile(at.host(host, 'apiserver.log'), 'utf8').catch(() => '');
  const end = log.trim().split('\n').slice(-8).join('\n');
  throw new Error(`${host}: ${verb}: ${stderr}\nThe end of ${at.host(host, 'apiserver.log')}:\n${end}`);
};
