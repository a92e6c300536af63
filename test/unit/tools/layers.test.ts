import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../support/build.js';
import { tempFolder } from '../../support/temp.js';
import { checkFile, checkTree } from '../../tools/layers.js';

const folder = tempFolder();

describe('the layer check', () => {
  it('finds nothing in the project', () => {
    expect(checkTree(join(ROOT, 'src'))).toEqual([]);
  });

  it('finds what is planted in a tree, with file and line', () => {
    mkdirSync(join(folder.path, 'core/deep'), { recursive: true });
    folder.write('core/deep/x.ts', "import a from '../fine.js';\nimport b from '../../run/run.js';\n");
    expect(checkTree(folder.path)).toEqual([
      { file: 'core/deep/x.ts', line: 2, rule: 'core may not import run/run' },
    ]);
  });

  it.each([
    [
      'trust/world.ts',
      "import { x } from '../hosts/host.js';",
      /trust may import types only from hosts\/host/,
    ],
    [
      'trust/world.ts',
      "import { readFile } from 'node:fs/promises';",
      /trust does no I\/O.*node:fs\/promises/,
    ],
    ['trust/world.ts', "import 'ssh2';", /trust does no I\/O.*ssh2/],
    ['trust/world.ts', "import { x } from 'net';", /trust does no I\/O/],
    ['pem/read.ts', "export const x = async () => import('node:child_process');", /pem does no I\/O/],
    ['steps/step.ts', "import { type A, b } from '../hosts/host.js';", /steps may import types only/],
    ['core/errors.ts', "import { x } from '../run/run.js';", /core may not import run/],
    ['core/errors.ts', "import type { X } from '../run/run.js';", /core may not import run/],
    ['core/errors.ts', "type X = import('../run/run.js').X;", /core may not import run/],
    ['hosts/host.ts', "import { x } from '../etcd/store.js';", /hosts may not import etcd/],
    ['hosts/host.ts', "import { x } from '../trust/world.js';", /hosts may not import trust/],
    ['steps/step.ts', "const x = await import('../run/run.js');", /steps may not import run/],
    [
      'steps/sa-keys/issue.ts',
      "import { x } from '../../cookbook/load.js';",
      /steps may not import cookbook/,
    ],
    ['changes/change.ts', "import {\n  a,\n  b,\n} from '../cli/main.js';", /changes may not import cli/],
    ['pem/keys.ts', "export { x } from '../kube/client.js';", /pem may import types only/],
    ['report/live.ts', "import { x } from '../run/run.js';", /report may not import run/],
    ['report/live.ts', "import { x } from '../changes/plan.js';", /report may not import changes/],
    ['run/run.ts', "import { x } from '../report/lines.js';", /run may import types only from report/],
    [
      'cookbook/load.ts',
      "import { x } from '../hosts/connect.js';",
      /cookbook may not import hosts\/connect/,
    ],
    ['news/x.ts', "import { x } from '../core/errors.js';", /news is not a layer/],
    ['cli/x.ts', "import { x } from '../news/x.js';", /news is not a layer/],
  ])('%s: %s', (file, text, rule) => {
    const [violation] = checkFile(file, `// import '../cli/main.js'\n${text}\n`);
    expect(violation?.rule).toMatch(rule);
    expect(violation?.line).toBeGreaterThanOrEqual(2);
  });

  it.each([
    ['steps/step.ts', "import type { Host } from '../hosts/host.js';"],
    ['steps/step.ts', "import { type Host } from '../hosts/host.js';"],
    ['run/emit.ts', "import type { RunEvent } from '../report/events.js';"],
    ['pem/keys.ts', "import { createHash } from 'node:crypto';"],
    ['cluster/load.ts', "import { expandHosts } from '../hosts/expression.js';"],
    ['core/x.ts', 'const text = "import { x } from \'../run/run.js\'";'],
    ['core/x.ts', "/* import { x } from '../run/run.js'; */"],
  ])('lets %s have %s', (file, text) => {
    expect(checkFile(file, text)).toEqual([]);
  });
});
