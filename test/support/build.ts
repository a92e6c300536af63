import { execa } from 'execa';
import { fileURLToPath } from 'node:url';

/** Top of the checkout. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Set-up of the test projects that run the command line itself: compiles it once. */
export default async (): Promise<void> => {
  await execa('npm', ['run', '--silent', 'build'], { cwd: ROOT });
};
