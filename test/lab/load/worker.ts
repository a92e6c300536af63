import { readFile } from 'node:fs/promises';
import { argv, exit } from 'node:process';
import { BalancedLoad } from './balanced.js';
import { runCalico } from './calico.js';
import { emptyCounts } from './counts.js';
import { DirectLoad } from './direct.js';
import { TokenPool } from './tokens.js';
import { topologyOf } from '../flavours.js';

/*
 * The process of the load clients; started by load.ts, which talks to it over IPC. It ends when told to, when
 * its parent is gone, and at the latest after the seconds given as its first argument. The second one is the pace of
 * the clients that ask each apiserver at its own address; the third one is the flavour of the lab.
 */
const started = Date.now();
const stop = new AbortController();
const counts = emptyCounts();

const snapshot = (): typeof counts => ({ ...counts, seconds: (Date.now() - started) / 1000 });

process.on('message', (message) => {
  if (message === 'counts') process.send?.({ counts: snapshot() });
  if (message === 'stop') stop.abort();
});
process.on('disconnect', () => exit(0));
setTimeout(() => stop.abort(), Number(argv[2] ?? '600') * 1000).unref();

const lab = topologyOf(argv[4] ?? 'systemd');
const ca = await readFile(lab.bastion.kubeCa, 'utf8');
const pool = await TokenPool.open(lab, counts);
const direct = new DirectLoad(pool, counts, ca, Number(argv[3] ?? '50'));
await direct.lookAround();
process.send?.('ready');
await Promise.all([
  pool.run(stop.signal),
  direct.run(stop.signal),
  new BalancedLoad(pool, counts, ca).run(stop.signal),
  runCalico(pool, counts, stop.signal),
]);
process.send?.({ final: snapshot() }, () => exit(0));
