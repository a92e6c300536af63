import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { auditReportSchema, type ClusterReport } from '../../../src/audit/report.js';
import { certroll, type Finished } from '../../support/certroll.js';
import { LoopbackFleet } from '../../support/fleet.js';

const SIZE = 40;
const AT_ONCE = 6;

let fleet: LoopbackFleet;
/** It takes connections and says nothing. */
let silent: Server;
let clusterFile: string;
let stranger: string;
let dead: string;

beforeAll(async () => {
  fleet = await LoopbackFleet.start({
    ...{ size: SIZE, controlPlanes: SIZE, config: ['LogLevel VERBOSE'] },
  });
  stranger = fleet.hosts[10]!;
  dead = fleet.hosts[20]!;
  await forgeKnownHost(stranger);
  silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  // The first word of ssh_config counts.
  const config = await readFile(fleet.path('ssh_config'), 'utf8');
  await fleet.sshd.file('ssh_config', `Host ${dead}\n  HostName 127.0.0.1\n  Port ${port}\n${config}`);
  clusterFile = await fleet.clusterFile(SIZE, '5s');
});
afterAll(async () => {
  silent.close();
  await fleet.stop();
});

/** Files another key for a host than the one that it shows. */
const forgeKnownHost = async (host: string): Promise<void> => {
  const known = await readFile(fleet.path('known_hosts'), 'utf8');
  const key = await readFile(fleet.path('stranger.pub'), 'utf8');
  const address = `[${host}]:${fleet.sshd.port}`;
  const others = known.split('\n').filter((line) => !line.startsWith(`${address} `));
  await fleet.sshd.file('known_hosts', [...others, `${address} ${key}`].join('\n'));
};

const clusterOf = ({ stdout }: Finished): ClusterReport =>
  auditReportSchema.parse(JSON.parse(stdout)).clusters[0]!;

/** How many connections sshd had open at most, by the order of its log. */
const mostConnections = (lines: readonly string[]): { readonly most: number; readonly open: number } => {
  const open = new Set<string>();
  let most = 0;
  for (const line of lines) {
    const [, port] = / port (\d+)/.exec(line) ?? [];
    if (port === undefined) continue;
    if (line.startsWith('Connection from ')) open.add(port);
    if (/^(Received disconnect|Disconnected|Connection (closed|reset))/.test(line)) open.delete(port);
    most = Math.max(most, open.size);
  }
  return { most, open: open.size };
};

it('audits every host of a fleet but those it cannot, which are findings, over no more connections than --at-once', async () => {
  const finished = await certroll(['audit', '-c', clusterFile, '--json', '--at-once', String(AT_ONCE)]);
  expect(finished.exitCode, finished.stderr).toBe(3);
  const { hosts, items, findings } = clusterOf(finished);
  const answering = fleet.hosts.filter((host) => host !== stranger && host !== dead);
  expect(hosts.map(({ name }) => name)).toEqual(answering);
  for (const host of answering) {
    const own = items.filter((item) => item.host === host && fleet.certificates.includes(item.path));
    expect(own.map(({ path }) => path).sort()).toEqual([...fleet.certificates].sort());
    expect(own.every(({ onDisk }) => onDisk.certificates.length === 1)).toBe(true);
  }
  const unseen = findings.filter(({ rule, text }) => rule === 'not-seen' && !text.includes('GET https'));
  expect(unseen.map(({ host, text }) => [host, text])).toEqual(
    expect.arrayContaining([
      [stranger, expect.stringContaining('host key')],
      [dead, expect.stringContaining('did not answer in time')],
    ]),
  );
  expect(unseen).toHaveLength(2);
  await vi.waitFor(async () => expect(mostConnections(await fleet.log()).open).toBe(0), 10_000);
  const log = await fleet.log();
  expect(log.filter((line) => line.startsWith('Connection from '))).toHaveLength(SIZE - 1);
  const { most } = mostConnections(log);
  expect(most).toBeLessThanOrEqual(AT_ONCE);
  expect(most).toBeGreaterThan(AT_ONCE / 2);
});
