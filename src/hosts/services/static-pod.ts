import type { StaticPodService } from '../host.js';
import { kubeletObstacles } from '../static-pod/kubelet.js';
import { restartPod } from '../static-pod/restart.js';
import { MOST_BYTES, podFact } from '../static-pod/observe.js';
import { podObstacles } from '../static-pod/obstacles.js';
import type { ServiceKind } from './kind.js';

/**
 * A static pod: kubelet runs it from a file on its host. Its process is found by its name and its cgroup, its next arguments are
 * in the manifest, and it is restarted by a note in the manifest, which makes another pod of it for kubelet.
 */
export const staticPod: ServiceKind<StaticPodService> = {
  library: `
  # Of every process that is called so anywhere in its arguments; who is meant is decided by their cgroups.
  static_pod() {
    for each in $(grep -lzE -- "^(.*/)?$2$" /proc/[0-9]*/cmdline 2>/dev/null); do
      each=\${each#/proc/}
      each=\${each%/cmdline}
      process "$1" "$each" 'it has ended'
      ids=$(sed -n 's/^[UG]id:[[:space:]]*[0-9]*[[:space:]]*\\([0-9]*\\).*/\\1/p; s/^Groups:[[:space:]]*/ /p' "/proc/$each/status" 2>/dev/null)
      net=other
      [ "/proc/$each/ns/net" -ef /proc/self/ns/net ] && net=host
      say pod "$(word "$1")" "$each" "$(enc 2>/dev/null <"/proc/$each/cgroup")" "$net" "$(printf %s "$ids" | enc)"
    done
    if [ ! -e "$3" ]; then say manifest "$(word "$1")" absent
    elif [ ! -f "$3" ]; then say manifest "$(word "$1")" no_file
    elif [ "$(stat -L -c %s -- "$3")" -gt ${MOST_BYTES} ]; then say manifest "$(word "$1")" too_large
    elif body=$(base64 -w 0 2>/dev/null <"$3"); then say manifest "$(word "$1")" read ".$body"
    else say manifest "$(word "$1")" unreadable
    fi
  }`,

  look: (key, { program, manifest }) => ['static_pod', key, program, manifest],

  read: (lines, clocks, spec) => podFact(lines, clocks, spec),

  obstacles: async (spec, fact, host) => {
    const inManifest = podObstacles(spec, fact);
    return inManifest.length > 0 ? inManifest : kubeletObstacles(host, spec.manifest);
  },

  restart: async (spec, context) => restartPod(spec, context),
};
