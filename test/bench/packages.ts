import { execa } from 'execa';
import { access } from 'node:fs/promises';
import { join } from 'node:path';

/** From PyPI. clush is on the machine already: the integration tests need ClusterShell too. */
const PACKAGES = ['cumin==6.0.0', 'ansible-core==2.19.14'] as const;

/** Folder of the programs that certroll is compared with; they are installed into `dir` when they are not there yet. */
export const installTools = async (dir: string, say: (text: string) => void): Promise<string> => {
  const bin = join(dir, 'bin');
  const isThere = await access(join(bin, 'ansible')).then(
    () => true,
    () => false,
  );
  if (!isThere) {
    say(`Installing ${PACKAGES.join(' and ')} into ${dir} ...`);
    await execa('python3', ['-m', 'venv', dir]);
    await execa(join(bin, 'pip'), ['install', '--quiet', '--disable-pip-version-check', ...PACKAGES]);
  }
  return bin;
};
