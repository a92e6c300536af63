/** Every line that counts starts with this word; what a login or sudo prints besides is passed over. */
export const MARK = '@certroll';

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
