import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { copyFile, cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CACHE_DIR, VERSIONS } from '../settings.js';
import { run, say } from '../shell.js';
import { secondsSince } from '../wait.js';
import type { Programs } from './binaries.js';
import { findGo } from './go.js';

/** An image as a file that `ctr images import` takes, and the name that kubeadm's manifests call it by. */
export interface Image {
  /** The last part of the name: kube-apiserver, etcd, pause, ... */
  readonly program: string;
  readonly name: string;
  readonly archive: string;
}

type ImagePrograms = Programs<
  'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'kubeadm' | 'etcd' | 'etcdctl'
>;

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

const digestOf = async (path: string): Promise<string> => {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
};

/** Builds the pause program of this folder; `work` is a scratch folder, so that none of it is written here. */
const buildPause = async (work: string): Promise<string> => {
  const source = join(work, 'source');
  await cp(fileURLToPath(new URL('./pause', import.meta.url)), source, { recursive: true });
  const program = join(work, 'pause');
  await run([await findGo(), 'build', '-trimpath', '-ldflags=-s -w', '-o', program, '.'], {
    cwd: source,
    env: { CGO_ENABLED: '0', GOTOOLCHAIN: 'local', GOFLAGS: '' },
  });
  return program;
};

/** Writes an image of one layer that holds these programs, in the form of `docker save`. */
const writeImage = async (image: Image, programs: readonly string[], work: string): Promise<void> => {
  const layer = join(work, `${image.program}-layer`);
  const parts = join(work, `${image.program}-parts`);
  await mkdir(join(layer, 'usr/local/bin'), { recursive: true });
  await mkdir(join(layer, 'tmp'), { mode: 0o1777 });
  await mkdir(parts);
  for (const path of programs) await copyFile(path, join(layer, 'usr/local/bin', basename(path)));
  const owner = ['--owner=0', '--group=0', '--numeric-owner'];
  await run(['tar', '-C', layer, ...owner, '-cf', join(parts, 'layer.tar'), '.']);
  const config = {
    architecture: 'amd64',
    os: 'linux',
    config: { Env: [`PATH=${PATH}`], Entrypoint: [`/usr/local/bin/${image.program}`] },
    rootfs: { type: 'layers', diff_ids: [`sha256:${await digestOf(join(parts, 'layer.tar'))}`] },
  };
  const manifest = [{ Config: 'config.json', RepoTags: [image.name], Layers: ['layer.tar'] }];
  await writeFile(join(parts, 'config.json'), JSON.stringify(config));
  await writeFile(join(parts, 'manifest.json'), JSON.stringify(manifest));
  const half = `${image.archive}.part`;
  await run(['tar', '-C', parts, '-cf', half, 'manifest.json', 'config.json', 'layer.tar']);
  await rename(half, image.archive);
};

/** Images of other programs, given by variables, lie in another folder. */
const folderOf = (programs: ImagePrograms): string => {
  const key = createHash('sha256').update(JSON.stringify(programs)).digest('hex').slice(0, 8);
  return join(CACHE_DIR, `images-${VERSIONS.kubernetes}-${key}`);
};

/** The images that this kubeadm's manifests name, of those that the lab has programs for. */
const listImages = async (
  kubeadm: string,
  programs: readonly string[],
  folder: string,
): Promise<readonly Image[]> => {
  const printed = await run([
    kubeadm,
    'config',
    'images',
    'list',
    '--kubernetes-version',
    VERSIONS.kubernetes,
  ]);
  return printed
    .split('\n')
    .map((name) => ({ name, program: basename(name).replace(/:.*$/, '') }))
    .filter(({ program }) => programs.includes(program))
    .map((image) => ({ ...image, archive: join(folder, `${image.program}.tar`) }));
};

/** Makes the images of a control plane from the programs, unless the cache has them. No registry is asked. */
export const ensureImages = async (programs: ImagePrograms): Promise<readonly Image[]> => {
  const contents: Readonly<Record<string, readonly string[]>> = {
    'kube-apiserver': [programs['kube-apiserver']],
    'kube-controller-manager': [programs['kube-controller-manager']],
    'kube-scheduler': [programs['kube-scheduler']],
    etcd: [programs.etcd, programs.etcdctl],
  };
  const folder = folderOf(programs);
  const images = await listImages(programs.kubeadm, [...Object.keys(contents), 'pause'], folder);
  const missing = images.filter(({ archive }) => !existsSync(archive));
  if (missing.length === 0) return images;
  const started = Date.now();
  await mkdir(folder, { recursive: true });
  const work = await mkdtemp(join(folder, 'work-'));
  try {
    for (const image of missing)
      await writeImage(image, contents[image.program] ?? [await buildPause(work)], work);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  say(`made ${missing.length} container images in ${secondsSince(started)} s`);
  return images;
};
