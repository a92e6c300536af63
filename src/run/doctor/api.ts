import { CertrollError } from '../../core/errors.js';
import { judgeTlsFailure } from '../../doctor/advice.js';
import { failed, ok, warning, type Verdict } from '../../doctor/check.js';
import type { Checklist } from '../../doctor/checklist.js';
import { accountRight, judgeRight, rightsFor, type Right } from '../../doctor/rights.js';
import { mayI } from '../../kube/access-review.js';
import type { ApiServer } from '../../kube/api-server.js';
import { apiServer } from '../../kube/client.js';
import type { ApiTarget } from '../../kube/request.js';
import type { DoctorDoors } from './doors.js';

const judgeApi = async (target: ApiTarget, api: ApiServer, doors: DoctorDoors): Promise<Verdict> => {
  try {
    const version = await api.version();
    const { ready, detail } = await api.readyz();
    return ready
      ? ok(`${version} at ${target.url}, ready`)
      : failed(
          `${target.url} is not ready: ${detail}`,
          'A run restarts no other apiserver before this one is ready: see its log.',
        );
  } catch (thrown) {
    if (!(thrown instanceof CertrollError) || thrown.code !== 'kube.tls') throw thrown;
    return judgeTlsFailure(thrown.message, thrown.hint ?? '', {
      wanted: target.serverName,
      setting: 'api.serverName',
      shown: await doors.shown(target.url, target.serverName),
    });
  }
};

/** An apiserver at its host's own address, with the name its certificate must carry; what can be asked of it further. */
export const checkApi = async (
  list: Checklist,
  name: string,
  doors: DoctorDoors,
): Promise<ApiTarget | undefined> => {
  let target: ApiTarget | undefined;
  const isWell = await list.check(
    'api',
    ['ssh-config', 'name', 'kubeconfig', 'kubeconfig-certificate'],
    async () => {
      const { hostname } = await doors.route(name);
      target = await doors.apiTarget(name, hostname);
      return judgeApi(target, apiServer(target), doors);
    },
  );
  return isWell ? target : undefined;
};

const reviewRight = async (target: ApiTarget, right: Right): Promise<Verdict> => {
  try {
    return judgeRight(right, await mayI(target, right.asked));
  } catch (thrown) {
    if (!(thrown instanceof CertrollError) || thrown.code !== 'kube.forbidden') throw thrown;
    return warning(
      `the user of the kubeconfig may not ask what it may do: ${thrown.message}`,
      'Give it the ClusterRole system:basic-user, which everybody who logs in has by default.',
    );
  }
};

/** What the user of the kubeconfig may do, asked of one apiserver: all of them decide by the same objects. */
export const checkRights = async (
  list: Checklist,
  target: ApiTarget | undefined,
  doors: DoctorDoors,
): Promise<void> => {
  const { probe } = doors.cluster.serviceAccounts;
  const rights = rightsFor(probe);
  if (!target) {
    // What keeps them all is told once.
    const after = ['kubeconfig', 'kubeconfig-certificate', 'ssh-config', 'name', 'api'] as const;
    await list.check({ id: 'right', subject: `all ${rights.length}` }, after, () => ok(''));
    await list.check('probe-account', after, () => ok(''));
    return;
  }
  for (const right of rights)
    await list.check({ id: 'right', subject: right.text }, [], async () => reviewRight(target, right));
  const mayGet = list.checks.find(({ subject }) => subject === accountRight(probe));
  if (mayGet?.state === 'failed') return;
  await list.check('probe-account', [], async () => {
    await apiServer(target).serviceAccountUid(probe);
    return ok(`${probe.name} in ${probe.namespace}`);
  });
};
