import { commandLine } from './command-line.js';
import type { FactRequest } from './host.js';
import { serviceKind, serviceLibrary } from './services/index.js';

/** Every line that counts starts with this word; what a login or sudo prints besides is passed over. */
export const MARK = '@certroll';

/**
 * The POSIX sh script that reads all facts asked for; it goes to `sh -s`. It changes nothing and
 * writes no temporary file. One fact a line: words between single spaces; a word that could hold
 * anything is `=` and itself where that is plain, else `.` and base64 (so that an empty one is still a word).
 *
 * A file is opened once and everything about it read through that descriptor: a rename in between
 * cannot mix two files. The private half of a key is never read into a variable or printed.
 */
export const factsScript = (request: FactRequest): string => {
  const services = Object.entries(request.services ?? {});
  const library = serviceLibrary(services.map(([, spec]) => spec));
  const calls = [
    ...(request.services === undefined ? [] : [['boot']]),
    ...(request.publicFiles ?? []).map((path) => ['file', 'public', path]),
    ...(request.privateKeys ?? []).map((path) => ['file', 'private', path]),
    ...services.map(([key, spec]) => serviceKind(spec).look(key, spec)),
    ...(request.freeSpaceOf ?? []).map((path) => ['space', path]),
  ];
  const asked = calls.map((words) => `  ${commandLine(words)}`).join('\n');
  // One function, called on one line: sh has read all of it before a command could eat the rest.
  return `main() {\n${BASICS}\n${LIBRARY}\n${library}\n  start\n${asked}\n  finish\n}\nmain </dev/null; exit\n`;
};

/**
 * Shell functions of every script that reads a host: how a line is said, and the host's clocks. Of many hosts, and of one
 * machine that is many in a test, the programs that a script starts are the cost: what the shell can do itself it does.
 */
export const BASICS = `
  LC_ALL=C PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
  export LC_ALL PATH
  say() { printf '${MARK}'; printf ' %s' "$@"; printf '\\n'; }
  enc() { printf .; base64 -w 0; }
  word() {
    case $1 in
      *[!A-Za-z0-9_./:@%+,=-]*) printf %s "$1" | enc ;;
      *) printf '=%s' "$1" ;;
    esac
  }

  start() {
    now=$(date +%s.%N)
    read -r up _ </proc/uptime
    read -r name </proc/sys/kernel/hostname || name=$(uname -n)
    say start "$now" "$up" "$(word "$name")"
  }
  boot() {
    hz=$(getconf CLK_TCK 2>/dev/null) || hz=100
    say boot "$hz" "$(sed -n 's/^btime //p' /proc/stat)"
  }
  finish() { say finish "$(date +%s.%N)"; }
  # A program's name may hold blanks, brackets and line ends: the fields that count follow the last bracket.
  ticks_of() {
    fields=
    while IFS= read -r each; do fields=$each; done 2>/dev/null <"/proc/$1/stat"
    set -f
    set -- \${fields##*) }
    printf %s "\${20}"
  }
  environment_files() { while IFS= read -r each; do cat -- "$each" 2>/dev/null; echo; done; }`;

const LIBRARY = `
  file() {
    if ! why=$(stat -L -- "$2" 2>&1 >/dev/null); then
      case $why in
        *'No such file or directory' | *'Not a directory') say absent "$(word "$2")" ;;
        *'Too many levels of symbolic links') say no_file "$(word "$2")" "$(word 'symbolic link that leads in a circle')" ;;
        *) say unreadable "$(word "$2")" "$(word "$why")" ;;
      esac
    elif [ ! -f "$2" ]; then
      say no_file "$(word "$2")" "$(word "$(stat -L -c %F -- "$2")")"
    else
      line=$( (exec 3<"$2" && "read_$1" "$2") 2>/dev/null ) ||
        line=$(say unreadable "$(word "$2")" "$(cat -- "$2" 2>&1 >/dev/null | enc)")
      printf '%s\\n' "$line"
    fi
  }
  about() {
    about_=$(stat -L -c '%a %.9Y %.9Z' /dev/fd/3) &&
      printf %s "$about_ $(stat -L -c %U /dev/fd/3 | enc) $(stat -L -c %G /dev/fd/3 | enc)"
  }
  read_public() {
    meta=$(about) && body=$(base64 </dev/fd/3) &&
      say public "$(word "$1")" $meta ".$(printf %s "$body" | tr -d '\\n')"
  }
  read_private() {
    meta=$(about) && sum=$(sha256sum </dev/fd/3) || return
    say private "$(word "$1")" $meta "\${sum%% *}" "$(openssl pkey -in /dev/fd/3 -passin pass: -pubout 2>/dev/null | enc)"
  }

  space() {
    dir=$1
    while [ ! -e "$dir" ]; do dir=\${dir%/*}; dir=\${dir:-/}; done
    if free=$(stat -f -c '%a %S' -- "$dir" 2>&1); then
      say space "$(word "$1")" $free
    else
      say unreadable "$(word "$1")" "$(word "$free")"
    fi
  }`;
