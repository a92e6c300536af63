import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ensureBinary } from '../build/binaries.js';
import type { Machine } from '../machine.js';
import { PKI } from '../settings.js';

/** Certificate file → the end of its first certificate, as a program told it: ISO 8601, UTC, whole seconds. */
export type Dates = ReadonlyMap<string, string>;

/** What an operator would run on a host instead of an audit, and what it says. */
export interface PeerAnswers {
  /** `kubeadm certs check-expiration`: what it lists, without what it says is missing. */
  readonly kubeadm: Dates;
  /** `openssl x509 -enddate` of each file. */
  readonly openssl: Dates;
  /** Files that are told to expire within 30 days or to be unusable, by either. */
  readonly alarms: readonly string[];
}

/** Where it lies on hosts that kubeadm did not make. */
const ADDED = '/root/kubeadm';
const LEAST_DAYS = 30;

/** Where kubeadm keeps what it calls by a name of its own (cmd/kubeadm/app/phases/certs/certlist.go). */
const pathOf = (name: string): string =>
  name.endsWith('.conf') ? `/etc/kubernetes/${name}` : `${PKI}/${name.replace(/^etcd-/, 'etcd/')}.crt`;

const certificate = z.object({
  name: z.string(),
  expirationDate: z.string().nullable(),
  missing: z.boolean().default(false),
});
const listed = z.object({
  certificates: z.array(certificate),
  certificateAuthorities: z.array(certificate),
});

const inSeconds = (date: string): string => new Date(date).toISOString().replace(/\.\d+Z$/, 'Z');

const isSoon = (date: string): boolean => Date.parse(date) - Date.now() < LEAST_DAYS * 86_400_000;

/** Puts kubeadm on a host; gives what takes it away again. */
export const installKubeadm = async ({ root }: Machine): Promise<() => Promise<void>> => {
  const path = join(root, ADDED);
  await copyFile(await ensureBinary('kubeadm'), path);
  return () => rm(path, { force: true });
};

/** What kubeadm says of the certificates on a host; `program` is its path there. */
export const askKubeadm = async (
  machine: Machine,
  program = ADDED,
): Promise<{ readonly dates: Dates; readonly alarms: readonly string[] }> => {
  // Without a kubeconfig for it, kubeadm tells that it takes its defaults, and goes on.
  const { exitCode, stdout, stderr } = await machine.exec([
    ...[program, 'certs', 'check-expiration', `--cert-dir=${PKI}`, '-o', 'json'],
  ]);
  if (exitCode !== 0) return { dates: new Map(), alarms: [`kubeadm: ${stderr.trim()}`] };
  const { certificates, certificateAuthorities } = listed.parse(
    JSON.parse(stdout.slice(stdout.indexOf('{'))),
  );
  const all = [...certificates, ...certificateAuthorities];
  const dates = new Map(
    all.flatMap(({ name, expirationDate, missing }) =>
      missing || expirationDate === null ? [] : [[pathOf(name), inSeconds(expirationDate)] as const],
    ),
  );
  const alarms = [
    ...all.filter(({ missing }) => missing).map(({ name }) => `kubeadm: ${pathOf(name)} is missing`),
    ...[...dates].filter(([, date]) => isSoon(date)).map(([path]) => `kubeadm: ${path} ends soon`),
  ];
  return { dates, alarms };
};

const askOpenssl = async (
  machine: Machine,
  paths: readonly string[],
): Promise<{ dates: Dates; alarms: readonly string[] }> => {
  const each =
    'for each; do echo "$each $(openssl x509 -noout -enddate -dateopt iso_8601 -in "$each" 2>&1 | head -n 1)"; done';
  const said = await machine.must(['sh', '-c', each, 'sh', ...paths]);
  const dates = new Map<string, string>();
  const alarms: string[] = [];
  for (const line of said.trim().split('\n')) {
    const [, path = '', answer = ''] = /^(\S+) (.*)$/.exec(line) ?? [];
    const date = /^notAfter=(\S+) (\S+)$/.exec(answer);
    if (!date) alarms.push(`openssl: ${path}: ${answer}`);
    else {
      const end = inSeconds(`${date[1] ?? ''}T${date[2] ?? ''}`);
      dates.set(path, end);
      if (isSoon(end)) alarms.push(`openssl: ${path} ends soon`);
    }
  }
  return { dates, alarms };
};

/** Asks both on a host, of the same files; changes nothing there. */
export const askPeers = async (machine: Machine, paths: readonly string[]): Promise<PeerAnswers> => {
  const [kubeadm, openssl] = [await askKubeadm(machine), await askOpenssl(machine, paths)];
  return {
    kubeadm: kubeadm.dates,
    openssl: openssl.dates,
    alarms: [...kubeadm.alarms, ...openssl.alarms],
  };
};
