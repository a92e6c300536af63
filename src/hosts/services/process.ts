import type { RunningService, ServiceFact } from '../host.js';
import { decode, startTime, type Clocks } from '../said.js';
import type { SaidOfService } from './kind.js';

/** Shell functions that every kind uses: `process KEY PID WHY-NOT` says what process it is, or why there is none. */
export const PROCESS_LIBRARY = `
  process() {
    case $2 in '' | 0 | *[!0-9]*) say stopped "$(word "$1")" "$(word "$3")"; return ;; esac
    for try in 1 2 3; do
      ticks=$(ticks_of "$2")
      argv=$( (base64 <"/proc/$2/cmdline") 2>/dev/null | tr -d '\\n')
      uid=$(sed -n 's/^Uid:[[:space:]]*[0-9]*[[:space:]]*\\([0-9]*\\).*/\\1/p' "/proc/$2/status" 2>/dev/null)
      [ "$ticks" = "$(ticks_of "$2")" ] && break
    done
    if [ -z "$ticks" ] || [ -z "$argv" ]; then
      say stopped "$(word "$1")" "$(word "$3 (no process $2)")"
      return
    fi
    user=$(getent passwd "$uid" | cut -d: -f1)
    say running "$(word "$1")" "$2" "$ticks" "$(word "\${user:-$uid}")" ".$argv"
  }`;

/** What a line `running` tells. */
export const runningFact = (words: readonly string[], clocks: Clocks): RunningService => {
  const [pid, ticks, user, argv] = words;
  return {
    running: true,
    pid: Number(pid),
    startTicks: Number(ticks),
    startedAtMs: startTime(Number(ticks), clocks),
    // Each argument ends with NUL; an empty last argument is one too.
    argv: decode(argv).replace(/\0$/, '').split('\0'),
    user: decode(user),
  };
};

/** What the lines of `process` tell. */
export const processFact = (lines: readonly SaidOfService[], clocks: Clocks): ServiceFact => {
  const running = lines.find(({ kind }) => kind === 'running');
  if (running) return runningFact(running.words, clocks);
  const stopped = lines.find(({ kind }) => kind === 'stopped');
  return { running: false, detail: stopped ? decode(stopped.words[0]) : 'nothing was said of it' };
};
