import { beforeAll, describe, expect, test } from 'vitest';
import { certroll } from '../support/certroll.js';
import { Lab } from './lab.js';
import { Load, type LoadCounts } from './load.js';
import { rotateNaively } from './naive.js';

const kids = async (lab: Lab): Promise<ReadonlyMap<string, string>> =>
  new Map((await lab.matrix()).map(({ signer, kid }) => [signer, kid]));

const figures = ({ direct, balanced, calico }: LoadCounts): string =>
  `${direct.requests} requests to the apiservers' own addresses: ${direct.unauthorized} of 401; ` +
  `${balanced.requests} through haproxy: ${balanced.failed + balanced.unauthorized} failed ` +
  `(${balanced.retriedIdle} retried on a closed idle connection, ${balanced.retriedLater} after a 429); ` +
  `${calico.requests} of curl through haproxy: ${calico.failed + calico.unauthorized} failed`;

describe('certroll run rotate-sa-keys', () => {
  let lab: Lab;
  const run = ['run', 'rotate-sa-keys', '-c', Lab.attach().bastion.clusterFile, '--yes'];
  const counts: Record<string, LoadCounts> = {};

  beforeAll(async () => {
    lab = await Lab.up();
    await lab.restoreFault();
  });

  test('mends the fault: it ends 0, every signer has a new key, and every apiserver accepts all of them', async () => {
    const before = await kids(lab);
    const load = await Load.start();
    const { exitCode, stdout, stderr } = await certroll([...run, '--reason', 'mend the fault']);
    expect(stderr.split('\n').slice(-6).join('\n')).not.toContain('certroll:');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('Done.');

    const matrix = await lab.matrix();
    expect(matrix.map(({ status }) => status)).toEqual(Array(9).fill(200));
    const after = await kids(lab);
    expect(new Set(after.values()).size).toBe(3);
    for (const [signer, kid] of after) expect(before.get(signer)).not.toBe(kid);

    // The clients that the fault kept out are let in, and stay in.
    const mended = await load.counts();
    const { calico } = await load.stop();
    expect(mended.calico.unauthorized).toBeGreaterThan(0);
    expect(calico.unauthorized).toBe(mended.calico.unauthorized);
    expect(mended.direct.newlyUnauthorized).toBe(0);

    const later = await Load.start({ maxSeconds: 10 });
    const quiet = await new Promise<LoadCounts>((resolve, reject) => {
      const look = (): void => {
        later
          .counts()
          .then(
            (seen) =>
              seen.calico.requests >= 15 ? void later.stop().then(resolve, reject) : setTimeout(look, 200),
            reject,
          );
      };
      look();
    });
    expect(quiet.calico.unauthorized).toBe(0);
    expect(quiet.direct.unauthorized).toBe(0);
  });

  test('has nothing to do when it is run again', async () => {
    const { exitCode, stdout } = await certroll(run);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('Nothing to do.');
  });

  test('costs no client a single refusal when it is forced under load', async () => {
    const before = await kids(lab);
    const load = await Load.start();
    const { exitCode } = await certroll([...run, '--force']);
    const seen = await load.stop();
    counts['certroll'] = seen;
    process.stdout.write(`certroll under load: ${figures(seen)}\n`);

    expect(exitCode).toBe(0);
    const after = await kids(lab);
    for (const [signer, kid] of after) expect(before.get(signer)).not.toBe(kid);
    // Old and new tokens of all signers were presented while it went on.
    for (const kid of [...before.values(), ...after.values()]) expect(seen.kids).toContain(kid);
    expect(seen.direct.unauthorized).toBe(0);
    expect(seen.balanced.failed + seen.balanced.unauthorized).toBe(0);
    expect(seen.calico.failed + seen.calico.unauthorized).toBe(0);
    // Each apiserver was away for a while, twice: the clients were there to see it.
    expect(seen.direct.unreachable).toBeGreaterThan(0);
  });

  test('is more careful than the naive rotation, which the same clients are refused by', async () => {
    const load = await Load.start();
    await rotateNaively(lab);
    const seen = await load.stop();
    process.stdout.write(`naive under load:    ${figures(seen)}\n`);
    process.stdout.write(
      `answers of 401: certroll ${counts['certroll']?.direct.unauthorized ?? 'not run'}, naive ${seen.direct.unauthorized}\n`,
    );
    expect(seen.direct.unauthorized).toBeGreaterThan(0);
  });
});
