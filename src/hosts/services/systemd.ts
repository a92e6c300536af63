import type { SystemdService } from '../host.js';
import { decode } from '../said.js';
import { startCommand } from '../systemd-command.js';
import type { ServiceKind } from './kind.js';
import { processFact } from './process.js';
import { missingCommand, restartByCommand } from './send.js';

/** A unit of systemd: its main process, and the command line that the unit, its drop-ins and environment files make now. */
export const systemd: ServiceKind<SystemdService> = {
  library: `
  unit() {
    if ! shown=$(systemctl show -p LoadState -p MainPID -p ActiveState -p SubState \
      -p ExecStart -p Environment -p EnvironmentFiles -- "$2" 2>&1); then
      say unreadable "$(word "$2")" "$(word "$shown")"
      return
    fi
    property() { printf '%s\\n' "$shown" | sed -n "s/^$1=//p"; }
    process "$1" "$(property MainPID)" "$2 is $(property ActiveState) ($(property SubState), $(property LoadState))"
    say start_with "$(word "$1")" "$(property ExecStart | tail -n 1 | enc)" "$(property Environment | enc)" \
      "$(property EnvironmentFiles | sed -n 's/ (ignore_errors=[a-z]*)$//p' | environment_files | enc)"
  }`,

  look: (key, { unit }) => ['unit', key, unit],

  read(lines, clocks) {
    const fact = processFact(lines, clocks);
    const started = lines.find(({ kind }) => kind === 'start_with');
    const [execStart = '', environment = '', environmentFiles = ''] = (started?.words ?? []).map(decode);
    const nextArgv = startCommand({ execStart, environment, environmentFiles });
    return fact.running && nextArgv ? { ...fact, nextArgv } : fact;
  },

  obstacles: async (_spec, _fact, host) => missingCommand(host, 'systemctl'),

  restart: async ({ unit }, context) => restartByCommand(['systemctl', 'restart', unit], context),
};
