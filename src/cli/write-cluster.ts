import { existsSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { parse } from 'yaml';
import { loadCluster, serviceSpec, type Cluster } from '../cluster/load.js';
import { clusterFileSchema, type ClusterFile } from '../cluster/schema.js';
import { CertrollError, EXIT } from '../core/errors.js';
import { writeAtomically } from '../core/write-atomically.js';
import { differencesOf } from '../init/differences.js';
import { propose } from '../init/proposal.js';
import { renderClusterFile } from '../init/render.js';
import { controlPlanesOf, type Survey } from '../init/seen.js';
import { renderDifferences, renderGaps } from '../report/init.js';
import { readKubeconfig, whyUnusable, type UsableKubeconfig } from '../run/init/survey-api.js';
import type { PidFile } from '../run/init/survey-host.js';
import { surveyCluster, type Candidate } from '../run/init/survey.js';
import type { InitFlags } from './commands/init.js';
import { auditProgress } from './audit-progress.js';
import { print } from './session.js';

const usage = (message: string, hint: string): CertrollError =>
  new CertrollError(message, { code: 'usage', exit: EXIT.usage, hint });

const NAME = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;

/** A path as the cluster file has it: relative to its folder where it lies below that, else absolute. */
const asWritten = (path: string, baseDir: string): string => {
  const absolute = resolve(path);
  const below = relative(baseDir, absolute);
  return below.startsWith('..') || below === '' ? absolute : `./${below}`;
};

/** The `ssh` section, as far as it was given. */
const givenSsh = (flags: InitFlags, baseDir: string): Readonly<Record<string, unknown>> => {
  const files = (paths: readonly string[] | undefined): readonly string[] | undefined =>
    paths?.map((path) => asWritten(path, baseDir));
  const all = {
    transport: flags.transport,
    config: flags.sshConfig === undefined ? undefined : asWritten(flags.sshConfig, baseDir),
    user: flags.sshUser,
    port: flags.sshPort,
    identityFiles: files(flags.identity),
    knownHosts: files(flags.knownHosts),
    sudo: flags.sudo ? undefined : false,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
};

/** What lies beside the cluster file under one of these names is taken for its kubeconfig, and told as that. */
const BESIDE = ['kubeconfig', 'admin.conf', 'kubeconfig.yaml'];

interface ChosenKubeconfig {
  readonly usable: UsableKubeconfig | undefined;
  readonly as: { readonly value: string; readonly where: string } | undefined;
}

const chooseKubeconfig = async (
  flags: InitFlags,
  existing: Cluster | undefined,
  baseDir: string,
): Promise<ChosenKubeconfig> => {
  const beside = BESIDE.map((name) => join(baseDir, name)).find((path) => existsSync(path));
  const [path, where] =
    flags.kubeconfig !== undefined
      ? [resolve(flags.kubeconfig), 'Given by --kubeconfig']
      : existing
        ? [existing.api.kubeconfig, 'Named by the cluster file']
        : [beside, 'Found beside this file'];
  if (path === undefined) return { usable: undefined, as: undefined };
  const context = flags.context ?? existing?.api.context;
  try {
    const usable = await readKubeconfig(path, context);
    return { usable, as: { value: asWritten(path, baseDir), where } };
  } catch (thrown) {
    throw usage(
      whyUnusable(path, thrown),
      'kubectl must get in with it: kubectl --kubeconfig FILE get nodes',
    );
  }
};

/** Processes that the existing file finds by their pid file. */
const pidFilesOf = (existing: Cluster | undefined, host: string): readonly PidFile[] =>
  existing === undefined
    ? []
    : (['kube-apiserver', 'kube-controller-manager'] as const).flatMap((program) => {
        const spec = serviceSpec(existing, host, program);
        return spec?.kind === 'command' ? [{ program, path: spec.pidFile }] : [];
      });

const candidatesOf = (host: string | undefined, existing: Cluster | undefined): readonly Candidate[] => [
  ...(existing?.hosts.controlPlanes ?? []).map((name) => ({
    ...{ name, where: 'in the cluster file', isGiven: true },
  })),
  ...(host === undefined ? [] : [{ name: host, where: 'given to certroll init', isGiven: true }]),
];

const requireControlPlanes = (survey: Survey): void => {
  if (controlPlanesOf(survey).length > 0) return;
  const whys = survey.unreached.map(({ name, why }) => `${name}: ${why}`);
  const looked = survey.hosts.map(({ name }) => `${name}: no kube-apiserver runs there`);
  throw new CertrollError(
    `no kube-apiserver was found${[...looked, ...whys].map((text) => `; ${text}`).join('')}`,
    {
      code: 'init.nothing-found',
      hint: 'Name a control plane that SSH reaches (certroll init HOST), and see --ssh-user, --ssh-config and --no-sudo. Nothing was written.',
    },
  );
};

const compare = (cluster: Cluster, file: string, survey: Survey): number => {
  const differences = differencesOf(cluster, survey);
  const unseen = survey.unreached.map(({ name, why }) => `${name} could not be looked at: ${why}`);
  for (const text of unseen) process.stderr.write(`not seen: ${text}\n`);
  print(renderDifferences(file, differences, unseen.length > 0));
  return differences.length + unseen.length > 0 ? EXIT.findings : EXIT.done;
};

const textFor = (survey: Survey, flags: InitFlags, ssh: Readonly<Record<string, unknown>>, file: string) => {
  const proposal = propose(survey, { ...(flags.name !== undefined && { name: flags.name }), ssh });
  const name = String(proposal.settings.find(({ path }) => path === 'name')?.value);
  const text = renderClusterFile(proposal, [
    `The cluster ${name}, as certroll init saw it on ${new Date().toISOString().slice(0, 10)}. Each value says where it was seen.`,
    'Is everything there that it needs? Is it still so?',
    `  certroll doctor -c ${file || `${name}.yaml`}`,
    `  certroll init -o ${file || `${name}.yaml`}`,
  ]);
  // What is written must load: this is the same form that loading checks.
  clusterFileSchema.parse(parse(text));
  return { name, text, gaps: proposal.gaps };
};

const settingsFor = (
  ssh: Readonly<Record<string, unknown>>,
  existing: Cluster | undefined,
): ClusterFile['ssh'] => clusterFileSchema.shape.ssh.parse({ ...existing?.ssh, ...ssh });

/** `certroll init`; exit 3 when something was not found out, or the file that is there says something else. */
export const writeCluster = async (host: string | undefined, flags: InitFlags): Promise<number> => {
  if (flags.name !== undefined && !NAME.test(flags.name))
    throw usage(`'${flags.name}' is not the name of a cluster`, 'Lower-case letters, digits and dashes.');
  const wanted = flags.output ?? (flags.name === undefined ? undefined : `${flags.name}.yaml`);
  const baseDir = dirname(resolve(wanted ?? 'x'));
  const isFresh = flags.force === true || flags.dryRun === true;
  let existing =
    wanted !== undefined && !isFresh && existsSync(wanted) ? await loadCluster(wanted) : undefined;
  if (host === undefined && flags.kubeconfig === undefined && !existing)
    throw usage(
      'there is nothing to start from',
      'Name a control plane (certroll init HOST) or a kubeconfig (--kubeconfig FILE); with -o FILE a cluster file that is there is compared.',
    );
  const ssh = givenSsh(flags, baseDir);
  const kubeconfig = await chooseKubeconfig(flags, existing, baseDir);
  const progress = await auditProgress();
  let survey: Survey;
  try {
    survey = await surveyCluster({
      baseDir,
      ssh: settingsFor(ssh, existing),
      hosts: candidatesOf(host, existing),
      kubeconfig: kubeconfig.usable,
      kubeconfigAs: kubeconfig.as,
      pidFiles: (name) => pidFilesOf(existing, name),
      progress: progress.show,
    });
  } finally {
    progress.end();
  }
  if (existing) return compare(existing, wanted ?? '', survey);
  requireControlPlanes(survey);
  const { name, text, gaps } = textFor(survey, flags, ssh, wanted === undefined ? '' : basename(wanted));
  const file = wanted ?? `${name}.yaml`;
  if (!isFresh && existsSync(file)) {
    // Its name was not known before: now it is.
    existing = await loadCluster(file);
    return compare(existing, file, survey);
  }
  for (const line of renderGaps(gaps)) process.stderr.write(`${line}\n`);
  if (flags.dryRun === true) print(text.trimEnd());
  else {
    await writeAtomically(file, text);
    print(file);
  }
  return gaps.length > 0 ? EXIT.findings : EXIT.done;
};
