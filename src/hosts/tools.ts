import { commandLine } from './command-line.js';
import { MARK } from './script-basics.js';

/** What a host was found to have of a program. */
export interface ToolFact {
  readonly name: string;
  /** `unfit`: it is there, and does not do what certroll's scripts ask of it. */
  readonly state: 'there' | 'missing' | 'unfit';
  /** What it said: a version, or what it printed instead. One line. */
  readonly detail: string;
}

/** Programs of which any version will do. */
const PLAIN = ['cat', 'cut', 'grep', 'head', 'id', 'rm', 'sed', 'tail', 'tr', 'uname'];

/**
 * The POSIX sh script that tries the programs that the other scripts use. Only with what the shell can do by itself, since
 * any program may be missing; of those that write it asks the help, so that it changes nothing. A line each:
 * `tool STATE NAME DETAIL`.
 */
const LIBRARY = `
  tell() {
    detail=$3
    detail=\${detail%%"$newline"*}
    printf '${MARK} tool %s %s %s\\n' "$1" "$2" "$detail"
  }
  has() { command -v "$1" >/dev/null 2>&1; }
  needs() { for each; do if has "$each"; then tell there "$each" ''; else tell missing "$each" ''; fi; done; }
  # NAME PATTERN-OF-CASE WHAT-IT-PRINTED
  fits() {
    if ! has "$1"; then tell missing "$1" ''; return; fi
    case $3 in
      $2) tell there "$1" '' ;;
      *) tell unfit "$1" "$3" ;;
    esac
  }
  version() { if has "$1"; then tell there "$1" "$("$@" 2>&1)"; else tell missing "$1" ''; fi; }`;

const ASKED = `
  newline='
'
  digit='[0-9]'
  needs ${PLAIN.join(' ')}
  fits stat '*.'"$digit$digit$digit$digit$digit$digit$digit$digit$digit "'*' "$(stat -L -c '%.9Y %U' / 2>&1)"
  fits base64 eA== "$(printf x 2>&1 | base64 -w 0 2>&1)"
  fits sha256sum '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881*' "$(printf x | sha256sum 2>&1)"
  fits date '*.'"$digit$digit$digit$digit$digit$digit$digit$digit$digit" "$(date +%s.%N 2>&1)"
  fits awk b "$(printf 'a b\\n' | awk '{ sub(/a/, ""); print $1 }' 2>&1)"
  fits readlink / "$(readlink -f -- / 2>&1)"
  fits timeout done "$(timeout 5 sh -c 'echo done' 2>&1)"
  fits getent 'root:*' "$(getent passwd 0 2>&1)"
  fits sync '' "$(sync -- / 2>&1)"
  fits mktemp '*' ''
  for each in mv ln; do fits "$each" '*-T*' "$("$each" --help 2>&1)"; done
  for each in chown chmod; do fits "$each" '*--reference*' "$("$each" --help 2>&1)"; done
  version openssl version`;

/** `more`: programs that this host needs besides, such as systemctl. */
export const toolsScript = (more: readonly string[]): string => {
  const asked = more.length === 0 ? '' : `\n  ${commandLine(['needs', ...more])}`;
  const path = '  LC_ALL=C PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin\n  export LC_ALL PATH';
  return `main() {\n${path}${LIBRARY}${ASKED}${asked}\n  printf '${MARK} finish\\n'\n}\nmain </dev/null; exit\n`;
};

/** Reads what `toolsScript` printed; undefined when it did not come to its end. */
export const parseTools = (output: string): readonly ToolFact[] | undefined => {
  const lines = output.split('\n').filter((line) => line.startsWith(`${MARK} `));
  if (!lines.includes(`${MARK} finish`)) return undefined;
  return lines.flatMap((line) => {
    const [, state, name = '', detail = ''] = /^\S+ tool (there|missing|unfit) (\S+) ?(.*)$/.exec(line) ?? [];
    return state === undefined ? [] : [{ name, state: state as ToolFact['state'], detail }];
  });
};
