import { access, constants, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { env } from 'node:process';
import { CACHE_DIR, VERSIONS } from '../settings.js';
import { run, say } from '../shell.js';
import { secondsSince } from '../wait.js';
import { findGo } from './go.js';
import { kubernetesModule } from './kubernetes-module.js';

export type Program =
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'kubeadm'
  | 'kubectl'
  | 'kubelet'
  | 'etcd'
  | 'etcdctl';

/** Paths of programs on this machine. */
export type Programs<P extends Program> = Readonly<Record<P, string>>;

/** What the hosts of the systemd flavour run. */
const SYSTEMD_PROGRAMS = [
  'etcd',
  'etcdctl',
  'kube-apiserver',
  'kube-controller-manager',
  'kubectl',
] as const satisfies readonly Program[];
export type Binaries = Programs<(typeof SYSTEMD_PROGRAMS)[number]>;

interface Recipe {
  readonly folder: string;
  /** Package that holds the program's main function. */
  readonly target: string;
  readonly ldflags: string;
  /** Writes the go.mod that everything of this folder is built from. */
  readonly module: (go: string, folder: string) => Promise<string>;
}

const [, , kubeMinor] = /^v(\d+)\.(\d+)\./.exec(VERSIONS.kubernetes) ?? [];
const VERSION_PACKAGE = 'k8s.io/component-base/version';
const KUBE_VERSION = {
  gitVersion: VERSIONS.kubernetes,
  gitMajor: '1',
  gitMinor: kubeMinor ?? '',
  gitTreeState: 'clean',
};

const kubernetes = (program: string): Recipe => ({
  folder: join(CACHE_DIR, `kubernetes-${VERSIONS.kubernetes}`),
  target: `k8s.io/kubernetes/cmd/${program}`,
  ldflags: [
    '-s -w',
    ...Object.entries(KUBE_VERSION).map(([name, value]) => `-X ${VERSION_PACKAGE}.${name}=${value}`),
  ].join(' '),
  module: (go, folder) => kubernetesModule(go, VERSIONS.kubernetes, folder),
});

const etcd = (target: string): Recipe => ({
  folder: join(CACHE_DIR, `etcd-${VERSIONS.etcd}`),
  target,
  ldflags: '-s -w',
  module: () =>
    Promise.resolve(
      [
        'module certroll.lab/etcd',
        'go 1.24.0',
        `require go.etcd.io/etcd/server/v3 ${VERSIONS.etcd}`,
        `require go.etcd.io/etcd/etcdctl/v3 ${VERSIONS.etcd}`,
        '',
      ].join('\n'),
    ),
});

const RECIPES: Readonly<Record<Program, Recipe>> = {
  'kube-apiserver': kubernetes('kube-apiserver'),
  'kube-controller-manager': kubernetes('kube-controller-manager'),
  'kube-scheduler': kubernetes('kube-scheduler'),
  kubeadm: kubernetes('kubeadm'),
  kubectl: kubernetes('kubectl'),
  kubelet: kubernetes('kubelet'),
  etcd: etcd('go.etcd.io/etcd/server/v3'),
  etcdctl: etcd('go.etcd.io/etcd/etcdctl/v3'),
};

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

const build = async (program: Program, recipe: Recipe): Promise<void> => {
  const go = await findGo();
  const source = join(recipe.folder, 'src');
  const started = Date.now();
  say(`building ${program} (${recipe.target}); the first one takes minutes`);
  await mkdir(source, { recursive: true });
  await writeFile(join(source, 'go.mod'), await recipe.module(go, source));
  const half = join(recipe.folder, `${program}.part`);
  // -mod=mod lets go complete go.mod and go.sum, which are made here and not kept in the repository.
  const command = [
    'nice',
    go,
    'build',
    '-mod=mod',
    '-trimpath',
    `-ldflags=${recipe.ldflags}`,
    '-o',
    half,
    recipe.target,
  ];
  await run(command, {
    cwd: source,
    show: true,
    env: { CGO_ENABLED: '0', GOTOOLCHAIN: 'local', GOFLAGS: '' },
  });
  await rename(half, join(recipe.folder, program));
  say(`built ${program} in ${secondsSince(started)} s`);
};

/** The variable that names a ready binary: KUBE_APISERVER for kube-apiserver. */
const variableOf = (program: Program): string => program.toUpperCase().replaceAll('-', '_');

const ensure = async (program: Program): Promise<string> => {
  const given = env[variableOf(program)];
  if (given !== undefined) {
    if (await isExecutable(given)) return given;
    throw new Error(`${variableOf(program)}=${given} is not a program that can be run`);
  }
  const recipe = RECIPES[program];
  const path = join(recipe.folder, program);
  if (!(await isExecutable(path))) await build(program, recipe);
  return path;
};

/** Programs given by variables, from the cache, or built now (one after the other: each build uses all cores). */
export const ensurePrograms = async <P extends Program>(names: readonly P[]): Promise<Programs<P>> => {
  const paths: Partial<Record<P, string>> = {};
  for (const name of names) paths[name] = await ensure(name);
  return paths as Programs<P>;
};

export const ensureBinaries = (): Promise<Binaries> => ensurePrograms(SYSTEMD_PROGRAMS);
