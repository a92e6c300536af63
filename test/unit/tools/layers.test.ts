import { describe, expect, it } from 'vitest';
import { checkFile, checkTree } from '../../tools/layers.js';
import { ROOT } from '../../support/build.js';
import { join } from 'node:path';

describe('the layer check', () => {
  it('finds nothing in the project', () => {
    expect(checkTree(join(ROOT, 'src'))).toEqual([]);
  });

  it.each([
    ['trust/world.ts', "import { x } from '../hosts/host.js';", /trust does no I\/O/],
    ['trust/world.ts', "import { readFile } from 'node:fs/promises';", /trust does no I\/O/],
    ['core/errors.ts', "import { x } from '../run/run.js';", /core may not import run/],
    ['hosts/host.ts', "import { x } from '../etcd/store.js';", /hosts may not import etcd/],
    ['steps/step.ts', "const x = await import('../run/run.js');", /steps may not import run/],
    ['changes/change.ts', "import {\n  a,\n  b,\n} from '../cli/main.js';", /changes may not import cli/],
    ['pem/keys.ts', "export { x } from '../kube/client.js';", /pem/],
  ])('%s: %s', (file, text, rule) => {
    const [violation] = checkFile(file, `// first line\n${text}\n`);
    expect(violation?.rule).toMatch(rule);
    expect(violation?.line).toBe(2);
  });

  it('lets types of a door into a pure layer that is above it', () => {
    expect(checkFile('steps/step.ts', "import type { Host } from '../hosts/host.js';\n")).toEqual([]);
  });
});
