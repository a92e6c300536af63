import { posix } from 'node:path';
import { parse } from 'yaml';
import { readFlags } from '../../kube/flags.js';
import { commandLine } from '../command-line.js';
import { BASICS } from '../script-basics.js';
import type { Host } from '../host.js';
import { decode, readSaid } from '../said.js';

/** Seconds that kubelet may take to say that it is well. */
const HEALTHZ_S = 5;

/** Keys of kubelet's configuration that matter here; others, which may hold a password, do not leave the host. */
const KEYS = ['staticPodPath', 'healthzPort', 'healthzBindAddress'] as const;
type Settings = Partial<Record<(typeof KEYS)[number], string>>;

const LIBRARY = `
  # Not one of a cluster inside of a container: that has a network of its own.
  kubelets() {
    for each in $(grep -lx kubelet /proc/[0-9]*/comm 2>/dev/null); do
      each=\${each#/proc/}
      each=\${each%/comm}
      [ "/proc/$each/ns/net" -ef /proc/self/ns/net ] || continue
      argv=$(base64 -w 0 2>/dev/null <"/proc/$each/cmdline")
      fields=
      while IFS= read -r line; do fields=$line; done 2>/dev/null <"/proc/$each/stat"
      fields=\${fields##*) }
      unit=$(sed -n '\\|^.*/\\([^/]*\\.service\\)$| { s||\\1|; p; q; }' "/proc/$each/cgroup" 2>/dev/null)
      active=
      [ -z "$unit" ] || active=$(systemctl show -p ActiveState -- "$unit" 2>/dev/null)
      [ -z "$argv" ] || say kubelet "$each" "\${fields%% *}" ".$argv" "$(word "$unit")" "$(word "\${active#ActiveState=}")"
    done
  }
  config() {
    [ -r "$1" ] || { say no_config "$(word "$1")"; return; }
    say config "$(word "$1")" "$(grep -hE '^(${KEYS.join('|')})[[:space:]]*:' -- "$1" | enc)" \\
      "$(grep -ohE '"(${KEYS.join('|')})"[[:space:]]*:[[:space:]]*("[^"]*"|[0-9]+)' -- "$1" | enc)"
  }
  configs_in() { for each in "$1"/*.conf; do [ ! -f "$each" ] || config "$each"; done; }
  watches() { [ "$1" -ef "\${2%/*}" ] || [ "$1" -ef "$2" ] || say not_watched "$(word "$1")"; }
  # Of programs that speak HTTP a host has one or the other.
  healthz() {
    if command -v curl >/dev/null 2>&1; then
      answer=$(curl -sS -i -g --noproxy '*' -m ${HEALTHZ_S} "http://$1:$2/healthz" 2>&1)
    elif command -v bash >/dev/null 2>&1; then
      answer=$(timeout ${HEALTHZ_S} bash -c 'exec 3<>"/dev/tcp/$0/$1" && printf "GET /healthz HTTP/1.0\\r\\n\\r\\n" >&3 && cat <&3' "$1" "$2" 2>&1)
    elif command -v python3 >/dev/null 2>&1; then
      answer=$(python3 -c 'import sys, urllib.request as r
print("HTTP/1.0", r.build_opener(r.ProxyHandler({})).open("http://%s:%s/healthz" % tuple(sys.argv[1:]), timeout=${HEALTHZ_S}).status)' "$1" "$2" 2>&1)
    else
      return
    fi
    say healthz "$(word "$answer")"
  }`;

/** Runs calls of the functions above on a host; changes nothing there. */
const ask = async (
  host: Host,
  calls: readonly (readonly string[])[],
): Promise<readonly (readonly string[])[]> => {
  const body = calls.map((words) => `  ${commandLine(words)}`).join('\n');
  const script = `main() {\n${BASICS}\n${LIBRARY}\n  start\n${body}\n  finish\n}\nmain </dev/null; exit\n`;
  const { stdout } = await host.run(['sh', '-s'], { stdin: script, readOnly: true });
  return readSaid(host.name, stdout.toString(), { sentAtMs: 0, receivedAtMs: 0 }).lines;
};

interface Kubelet {
  readonly pid: string;
  readonly state: string;
  readonly argv: readonly string[];
  readonly unit: string;
  readonly active: string;
}

const kubeletsIn = (lines: readonly (readonly string[])[]): readonly Kubelet[] =>
  lines.flatMap(([kind, pid = '', state = '', argv, unit, active]) =>
    kind === 'kubelet'
      ? [
          {
            pid,
            state,
            argv: decode(argv).replace(/\0$/, '').split('\0'),
            unit: decode(unit),
            active: decode(active),
          },
        ]
      : [],
  );

/** What its lines set: of YAML whole lines, of JSON the pieces. Pure. */
const settingsIn = (lines: string, pieces: string): Settings => {
  const settings: Settings = {};
  for (const line of [...pieces.split('\n'), ...lines.split('\n')]) {
    const [, name, rest] = /^"?(\w+)"?\s*:(.*)$/.exec(line) ?? [];
    const key = KEYS.find((each) => each === name);
    if (key === undefined || rest === undefined) continue;
    const value = scalar(rest);
    if (value !== undefined) settings[key] = value;
  }
  return settings;
};

const scalar = (text: string): string | undefined => {
  try {
    const value: unknown = parse(text.trim(), { logLevel: 'silent' });
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  } catch {
    return undefined;
  }
};

/** States of /proc/PID/stat in which a process does nothing, and does not come back by itself. */
const STATES: Readonly<Record<string, string>> = {
  T: 'is stopped (SIGSTOP)',
  t: 'is stopped by a debugger',
  Z: 'is dead (a zombie)',
  X: 'is dead',
};

/** The settings that a running kubelet has: flags win over files, later files over earlier ones. */
const settingsOf = async (host: Host, argv: readonly string[]): Promise<Settings | string> => {
  const flags = readFlags(argv);
  const last = (name: string): string | undefined => flags.get(name)?.at(-1);
  const [file, folder] = [last('config'), last('config-dir')];
  const calls = [
    ...(file === undefined ? [] : [['config', file]]),
    ...(folder === undefined ? [] : [['configs_in', folder]]),
  ];
  const lines = calls.length === 0 ? [] : await ask(host, calls);
  const [, unread] = lines.find(([kind]) => kind === 'no_config') ?? [];
  if (unread !== undefined) return `its configuration ${decode(unread)} cannot be read`;
  const fromFiles = lines.reduce<Settings>((before, [kind, path, yaml, json]) => {
    if (kind !== 'config') return before;
    const { staticPodPath, ...rest } = settingsIn(decode(yaml), decode(json));
    // A relative path starts at the file that holds it.
    const folderOf = staticPodPath && posix.resolve(posix.dirname(decode(path)), staticPodPath);
    return {
      ...before,
      ...rest,
      ...(folderOf !== undefined && folderOf !== '' && { staticPodPath: folderOf }),
    };
  }, {});
  const byFlags: Settings = Object.fromEntries(
    (
      [
        ['staticPodPath', last('pod-manifest-path')],
        ['healthzPort', last('healthz-port')],
        ['healthzBindAddress', last('healthz-bind-address')],
      ] as const
    ).filter(([, value]) => value !== undefined && value !== ''),
  );
  return { ...fromFiles, ...byFlags };
};

/** Where kubelet's health is asked on its own host; undefined where it does not serve it. Defaults: kubelet.config.k8s.io/v1beta1. */
const healthzOf = ({
  healthzPort = '10248',
  healthzBindAddress = '127.0.0.1',
}: Settings): readonly string[] => {
  if (healthzPort === '0') return [];
  const address = { '0.0.0.0': '127.0.0.1', '::': '::1' }[healthzBindAddress] ?? healthzBindAddress;
  return ['healthz', address.includes(':') ? `[${address}]` : address, healthzPort];
};

const why = (answer: string): string => answer.trim().split(/\r?\n/).at(-1)?.slice(0, 200) ?? '';

/**
 * Why kubelet on that host would not take up a manifest: it does not run, is stopped, does not answer, or watches another
 * folder. To be asked before anything is edited: an edit that nobody takes up waits for the day on which somebody does, which is
 * outside of the lock. Changes nothing. Throws the errors of the host.
 */
export const kubeletObstacles = async (host: Host, manifest: string): Promise<readonly string[]> => {
  const [kubelet, second] = kubeletsIn(await ask(host, [['kubelets']]));
  if (!kubelet) return ['kubelet does not run there'];
  const { pid, state, argv, unit, active } = kubelet;
  if (second)
    return [`two kubelets run there (pids ${pid}, ${second.pid}); which one watches ${manifest} is unclear`];
  const called = `kubelet (pid ${pid})`;
  if (STATES[state] !== undefined) return [`${called} ${STATES[state]}`];
  if (active !== '' && active !== 'active' && active !== 'reloading')
    return [`the unit of ${called}, ${unit}, is ${active}`];
  const settings = await settingsOf(host, argv);
  if (typeof settings === 'string') return [`${called}: ${settings}`];
  const { staticPodPath } = settings;
  if (staticPodPath === undefined)
    return [`${called} watches no folder: neither its flags nor its configuration name a staticPodPath`];
  const health = healthzOf(settings);
  const lines = await ask(host, [
    ['watches', staticPodPath, manifest],
    ...(health.length > 0 ? [health] : []),
  ]);
  const [, healthz] = lines.find(([kind]) => kind === 'healthz') ?? [];
  const answer = healthz === undefined ? undefined : decode(healthz);
  return [
    ...(lines.some(([kind]) => kind === 'not_watched')
      ? [`${called} watches ${staticPodPath}, which is not where ${manifest} lies`]
      : []),
    ...(answer === undefined || /^HTTP\/\S+ 200\b/.test(answer)
      ? []
      : [`${called} does not answer that it is well: ${why(answer)}`]),
  ];
};
