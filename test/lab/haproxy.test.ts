import { beforeAll, describe, expect, test } from 'vitest';
import { Lab } from './lab.js';
import { Load } from './load.js';
import { restartPlainly } from './restart.js';
import { CONTROL_PLANES } from './settings.js';

describe('the load balancer', () => {
  let lab: Lab;

  beforeAll(async () => {
    lab = await Lab.up();
    await lab.trustEachOther();
  });

  // Shows that what a rotation loses it loses by itself: the lab's restarts cost nothing.
  test('loses no request while the apiservers are restarted one by one', async () => {
    const before = await Promise.all(
      CONTROL_PLANES.map((host) => lab.processStart(host.name, 'kube-apiserver')),
    );
    const load = await Load.start({ maxSeconds: 240 });
    for (const host of CONTROL_PLANES) await restartPlainly(lab, host.name);
    const { balanced, calico, direct, mishaps } = await load.stop();

    const after = await Promise.all(
      CONTROL_PLANES.map((host) => lab.processStart(host.name, 'kube-apiserver')),
    );
    after.forEach((start, index) => expect(start).not.toEqual(before[index]));
    expect(mishaps.filter((each) => each.client !== 'mint')).toEqual([]);
    expect(balanced.ok).toBe(balanced.requests);
    expect(calico.ok).toBe(calico.requests);
    expect(direct.unauthorized).toBe(0);
    // Each apiserver was really away for a while.
    expect(direct.unreachable).toBeGreaterThan(0);
  });
});
