import { access, chmod, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { run, say } from '../shell.js';
import { aptInstall, hasProgram } from './packages.js';

/** What Kubernetes and etcd of the lab's versions ask for. */
const NEEDED_MINOR = 24;

/** A Go toolchain is itself a module: an older Go can fetch this one, though it could not build with it. */
const TOOLCHAIN = 'golang.org/toolchain@v0.0.1-go1.24.13.linux-amd64';

/** `go1.26.8` → 26; undefined when there is no such program. */
const minorOf = async (go: string): Promise<number | undefined> => {
  const version = await execa(go, ['version'], { reject: false, stdin: 'ignore' });
  const found = /go1\.(\d+)/.exec(version.stdout);
  return version.exitCode === 0 && found ? Number(found[1]) : undefined;
};

/** Files of a module come without their execute bits: give them back to the programs of the toolchain. */
const makeExecutable = async (root: string): Promise<void> => {
  for (const folder of ['bin', 'pkg/tool/linux_amd64']) {
    for (const name of await readdir(join(root, folder))) await chmod(join(root, folder, name), 0o755);
  }
};

const fetchToolchain = async (go: string): Promise<string> => {
  say(`fetching ${TOOLCHAIN} from the Go module proxy`);
  const answer = JSON.parse(await run([go, 'mod', 'download', '-json', TOOLCHAIN], { cwd: '/' })) as {
    Dir?: string;
  };
  if (answer.Dir === undefined) throw new Error(`Go gave no folder for ${TOOLCHAIN}`);
  await makeExecutable(answer.Dir);
  const program = join(answer.Dir, 'bin', 'go');
  await access(program);
  return program;
};

/** A Go new enough for the lab's binaries: this machine's, else one fetched with Debian's older one. */
export const findGo = async (): Promise<string> => {
  if (!(await hasProgram('go'))) await aptInstall(['golang-go']);
  const minor = await minorOf('go');
  if (minor !== undefined && minor >= NEEDED_MINOR) return 'go';
  return fetchToolchain('go');
};
