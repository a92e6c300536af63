import { commandLine } from './command-line.js';
import type { FactRequest } from './host.js';
import { BASICS } from './script-basics.js';
import { serviceKind, serviceLibrary } from './services/index.js';

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
    ...(request.sharedFolders ?? []).map(({ pid, inside, outside, files }) => [
      ...['shared', String(pid), inside, outside],
      ...files,
    ]),
  ];
  const asked = calls.map((words) => `  ${commandLine(words)}`).join('\n');
  // One function, called on one line: sh has read all of it before a command could eat the rest.
  return `main() {\n${BASICS}\n${LIBRARY}\n${library}\n  start\n${asked}\n  finish\n}\nmain </dev/null; exit\n`;
};

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
  }
  # One that is no folder here is mounted as a file: of that the process keeps what it was when its container was made.
  shared() {
    [ -d "$3" ] || return
    [ "/proc/$1/root$2" -ef "$3" ] || say other_folder "$(word "$3")"
    base=$(readlink -f -- "$3")
    shift 3
    for each; do
      to=$(readlink -f -- "$each") || continue
      case $to in "$base"/*) ;; *) say leads_out "$(word "$each")" "$(word "$to")" ;; esac
    done
  }`;
