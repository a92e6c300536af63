import type { CommandService } from '../host.js';
import type { ServiceKind } from './kind.js';
import { processFact } from './process.js';
import { missingCommand, restartByCommand } from './send.js';

/** A service of a manager that certroll does not know: a command restarts it, a file holds its pid. */
export const command: ServiceKind<CommandService> = {
  library: `
  pid_file() {
    if [ ! -e "$2" ]; then
      say stopped "$(word "$1")" "$(word "$2 does not exist")"
    elif ! pid=$(cat -- "$2" 2>&1); then
      say unreadable "$(word "$2")" "$(word "$pid")"
    else
      process "$1" "$pid" "no process has the pid in $2"
    fi
  }`,

  look: (key, { pidFile }) => ['pid_file', key, pidFile],

  read: (lines, clocks) => processFact(lines, clocks),

  obstacles: async ({ restart: [program = ''] }, _fact, host) => missingCommand(host, program),

  restart: async ({ restart }, context) => restartByCommand(restart, context),
};
