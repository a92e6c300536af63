import { beforeAll, describe, expect, test } from 'vitest';
import { Lab } from './lab.js';
import { Load } from './load.js';
import { CONTROL_PLANES } from './settings.js';
import { until } from './wait.js';

describe('a control plane whose apiservers have a signing key each', () => {
  let lab: Lab;

  beforeAll(async () => {
    lab = await Lab.up();
    await lab.restoreFault();
  });

  test('every apiserver loads its own key and no other', async () => {
    const loaded = await Promise.all(CONTROL_PLANES.map((host) => lab.jwks(host.name)));
    expect(loaded.map((kids) => kids.length)).toEqual([1, 1, 1]);
    expect(new Set(loaded.flat()).size).toBe(3);
  });

  test('a token is accepted by the apiserver that minted it and refused by the others', async () => {
    const matrix = await lab.matrix();
    expect(matrix).toHaveLength(9);
    for (const { signer, verifier, status } of matrix) expect(status).toBe(signer === verifier ? 200 : 401);
  });

  test('the kid of a minted token is the one key that its apiserver lists', async () => {
    for (const { signer, kid } of await lab.matrix()) expect(await lab.jwks(signer)).toEqual([kid]);
  });

  test('a client behind the load balancer is refused now and then', async () => {
    const load = await Load.start({ maxSeconds: 60 });
    await until(
      'the client has asked often enough',
      45,
      async () => (await load.counts()).calico.requests >= 30,
    );
    const { calico, balanced, direct } = await load.stop();
    expect(calico.unauthorized).toBeGreaterThan(0);
    expect(calico.ok).toBeGreaterThan(0);
    expect(calico.failed).toBe(0);
    expect(balanced.unauthorized).toBeGreaterThan(0);
    // What was broken from the beginning is not counted as newly broken.
    expect(direct.unauthorized).toBeGreaterThan(0);
    expect(direct.newlyUnauthorized).toBe(0);
  });
});
