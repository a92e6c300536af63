import { commandLine } from './command-line.js';
import { BASICS } from './script-basics.js';
import type { InspectRequest } from './inspect.js';
import { REDACT, SKELETON } from './redact.js';

/** Bytes of the largest file that is looked at; the system's own bundle of authorities has a quarter of a million. */
const MOST_BYTES = 4 * 1024 * 1024;

/** Seconds for one handshake. */
const HANDSHAKE_S = 6;

/** What the kernel keeps of a program's name. */
export const COMM = 15;

/** Variables that etcd takes instead of flags and that name files or addresses; others may hold passwords. */
const ETCD_VARIABLES = [
  ...['CERT_FILE', 'KEY_FILE', 'TRUSTED_CA_FILE', 'CLIENT_CERT_FILE', 'CLIENT_KEY_FILE', 'CLIENT_CERT_AUTH'],
  ...['PEER_CERT_FILE', 'PEER_KEY_FILE', 'PEER_TRUSTED_CA_FILE', 'PEER_CLIENT_CERT_FILE'],
  ...['PEER_CLIENT_KEY_FILE', 'PEER_CLIENT_CERT_AUTH', 'AUTO_TLS', 'PEER_AUTO_TLS', 'CONFIG_FILE'],
  ...['LISTEN_CLIENT_URLS', 'LISTEN_PEER_URLS', 'ADVERTISE_CLIENT_URLS', 'INITIAL_ADVERTISE_PEER_URLS'],
];

/**
 * The POSIX sh script that looks at a host for an audit, in the form of `factsScript`: read-only, one fact a line, no
 * temporary file. A file that cannot be read is a fact here, since it is what an audit is for. No private key leaves the
 * host: everything read passes through `REDACT` or `SKELETON`.
 */
export const inspectScript = (request: InspectRequest): string => {
  const names = (request.programs ?? []).map((name) => name.slice(0, COMM));
  const processes = names.length + (request.pidFiles ?? []).length;
  const calls = [
    ...(processes > 0 ? [['boot']] : []),
    ...(names.length > 0 ? [['programs', names.join('|')]] : []),
    ...(request.pidFiles ?? []).map(({ program, path }) => ['pid_file', program, path]),
    ...(request.files ?? []).map((path) => ['look', 'file', path]),
    ...(request.documents ?? []).map((path) => ['look', 'document', path]),
    ...(request.folders ?? []).map((path) => ['folder', path]),
    ...(request.readers ?? []).map(({ uid, gid, groups, paths }) => [
      ...['reader', String(uid), String(gid), groups.join(',') || '-'],
      ...paths,
    ]),
    ...(request.ports ?? []).map(({ address, serverName }) => ['port', address, serverName ?? '']),
  ];
  const asked = calls.map((words) => `  ${commandLine(words)}`).join('\n');
  const programs = `  REDACT=${commandLine([REDACT])} SKELETON=${commandLine([SKELETON])}\n  export REDACT`;
  return `main() {\n${BASICS}\n${programs}\n${LIBRARY}\n  start\n  needs awk\n${asked}\n  finish\n}\nmain </dev/null; exit\n`;
};

const LIBRARY = `
  needs() { command -v "$1" >/dev/null 2>&1 || say missing "$(word "$1")"; }

  # Two paths that lead to one thing; where nobody may look, they are taken to.
  same() { [ ! -e "$1" ] || [ "$1" -ef "$2" ]; }

  programs() {
    for each in $(grep -lxE -- "$1" /proc/[0-9]*/comm 2>/dev/null); do
      each=\${each#/proc/}
      each=\${each%/comm}
      # Static pods have the host's network; with another it is the process of a machine or cluster inside this host.
      if same "/proc/$each/ns/net" /proc/self/ns/net; then process "" "$each"; fi
    done
  }
  pid_file() {
    pid=$(cat -- "$2" 2>/dev/null)
    case $pid in '' | *[!0-9]*) return ;; esac
    process "$1" "$pid"
  }
  process() {
    for try in 1 2 3; do
      ticks=$(ticks_of "$2")
      argv=$(base64 -w 0 2>/dev/null <"/proc/$2/cmdline")
      ids=$(awk '/^Uid:/ { u = $3 } /^Gid:/ { g = $3 } /^CapEff:/ { c = $2 }
        /^Groups:/ { for (i = 2; i <= NF; i++) s = s (s == "" ? "" : ",") $i }
        END { print u, g, s == "" ? "-" : s, c }' "/proc/$2/status" 2>/dev/null)
      [ "$ticks" = "$(ticks_of "$2")" ] && break
    done
    if [ -z "$ticks" ] || [ -z "$argv" ]; then return; fi
    uid=\${ids%% *}
    user=$(getent passwd "$uid")
    user=\${user%%:*}
    view=own
    if ! same "/proc/$2/ns/mnt" /proc/self/ns/mnt || ! same "/proc/$2/root" /; then view=other; fi
    comm=
    read -r comm 2>/dev/null <"/proc/$2/comm"
    environment==
    case \${1:-$comm} in etcd) environment=$(tr '\\0' '\\n' 2>/dev/null <"/proc/$2/environ" |
      grep -E '^ETCD_(${ETCD_VARIABLES.join('|')})=' | enc) ;; esac
    say process "$(word "$1")" "$2" "$ticks" "$(word "$comm")" "$ids" "$(word "\${user:-$uid}")" \\
      "$view" "$(word "$(readlink "/proc/$2/cwd" 2>/dev/null)")" ".$argv" "$environment"
    unit=$(sed -n '\\|^.*/\\([^/]*\\.service\\)$| { s||\\1|; p; q; }' "/proc/$2/cgroup" 2>/dev/null)
    [ -n "$unit" ] && shown=$(systemctl show -p MainPID -p ExecStart -p Environment -p EnvironmentFiles \\
      -p NeedDaemonReload -- "$unit" 2>/dev/null) || return
    property() { printf '%s\\n' "$shown" | sed -n "s/^$1=//p"; }
    [ "$(property MainPID)" = "$2" ] || return
    say unit "$2" "$(word "$unit")" "$(property ExecStart | tail -n 1 | enc)" "$(property Environment | enc)" \\
      "$(property EnvironmentFiles | sed -n 's/ (ignore_errors=[a-z]*)$//p' | environment_files | enc)"
  }

  look() {
    if [ ! -e "$2" ] && ! why=$(stat -L -- "$2" 2>&1 >/dev/null); then
      case $why in
        *'No such file or directory' | *'Not a directory') say absent "$(word "$2")" "$(link "$2")" ;;
        *) say unreadable "$(word "$2")" "$(word "$why")" ;;
      esac
    elif [ ! -f "$2" ]; then
      say unreadable "$(word "$2")" "$(word 'not a regular file')"
    else
      line=$( (exec 3<"$2" && look_at "$1" "$2") 2>/dev/null ) ||
        line=$(say unreadable "$(word "$2")" "$(cat -- "$2" 2>&1 >/dev/null | enc)")
      printf '%s\\n' "$line"
    fi
  }
  link() { if [ -L "$1" ]; then word "$(readlink -- "$1")"; else printf =; fi; }
  look_at() {
    meta=$(stat -L -c '%a %.9Y %.9Z %u %g %s:%U:%G' /dev/fd/3) || return
    names=\${meta#*:} meta=\${meta%%:*}
    if [ "\${meta##* }" -gt ${MOST_BYTES} ]; then
      say unreadable "$(word "$2")" "$(word 'it is too large to be what it should be')"
      return
    fi
    if [ "$1" = document ]; then text=$(awk "$SKELETON" </dev/fd/3 | enc)
    else text=$(awk "$REDACT" </dev/fd/3 | enc)
    fi
    half=.
    if [ "$1" = file ] && grep -q 'PRIVATE KEY' /dev/fd/3; then
      half=$(openssl pkey -in /dev/fd/3 -passin pass: -pubout 2>/dev/null | enc)
    fi
    say looked "$(word "$2")" $meta "$(word "\${names%%:*}")" "$(word "\${names#*:}")" "$(link "$2")" "$text" "$half"
  }

  folder() {
    [ -d "$1" ] || return
    say folder "$(word "$1")" "$(for each in "$1"/* "$1"/.[!.]*; do
      if [ -e "$each" ] || [ -L "$each" ]; then printf '%s\\n' "\${each##*/}"; fi
    done | enc)"
  }

  reader() {
    uid=$1 gid=$2 groups=$3
    shift 3
    test_all='for each; do [ ! -e "$each" ] || [ -r "$each" ] || printf "%s\\n" "$each"; done'
    if [ "$uid" = 0 ]; then return
    elif [ "$(id -u)" = "$uid" ]; then found=$(sh -c "$test_all" sh "$@")
    elif [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null 2>&1; then
      case $groups in -) groups=--clear-groups ;; *) groups=--groups=$groups ;; esac
      # [ ! -e ] is true in a folder that this user may not search: a second look, as root, tells.
      test_all='for each; do [ -r "$each" ] || printf "%s\\n" "$each"; done'
      found=$(setpriv --reuid "$uid" --regid "$gid" "$groups" -- sh -c "$test_all" sh "$@")
    else return
    fi
    printf '%s\\n' "$found" | while IFS= read -r each; do
      if [ -n "$each" ] && [ -e "$each" ]; then say denied "$uid" "$(word "$each")"; fi
    done
  }

  port() {
    at=$1 name=$2
    if [ -n "$name" ]; then set -- -servername "$name"; else set -- -noservername; fi
    # Master keys of the session are in it: only certificates and names of authorities pass on.
    shown=$(timeout ${HANDSHAKE_S} openssl s_client -connect "$at" "$@" -showcerts -nameopt RFC2253,sep_comma_plus_space </dev/null 2>/dev/null)
    say port "$(word "$at")" "$(word "$name")" "$(printf '%s\\n' "$shown" | awk "$REDACT" | enc)" \\
      "$(printf '%s\\n' "$shown" | awk '
        /^Acceptable client certificate CA names/ { on = 1; next }
        /^(---|Client Certificate Types|Requested Signature|Shared Requested|Peer signing)/ { on = 0 }
        on' | enc)"
  }`;
