import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { auditReportSchema } from '../../src/audit/report.js';
import { clusterFileSchema } from '../../src/cluster/schema.js';
import { fleetFileSchema } from '../../src/cluster/fleet.js';
import { cookbookSchema } from '../../src/cookbook/schema.js';
import { ROOT } from '../support/build.js';

interface Published {
  readonly schema: z.ZodType;
  readonly title: string;
  readonly description: string;
}

const published: Readonly<Record<string, Published>> = {
  'audit.schema.json': {
    schema: auditReportSchema,
    title: 'certroll audit report',
    description: 'What certroll audit --format json prints.',
  },
  'cluster.schema.json': {
    schema: clusterFileSchema,
    title: 'certroll cluster file',
    description: 'What certroll must be told about a cluster; the rest it sees for itself.',
  },
  'fleet.schema.json': {
    schema: fleetFileSchema,
    title: 'certroll fleet file',
    description: 'Clusters that certroll audit looks at together.',
  },
  'cookbook.schema.json': {
    schema: cookbookSchema,
    title: 'certroll cookbook',
    description: 'The steps of a rotation, in order, with their inputs and conditions.',
  },
};

/** The JSON Schemas that the project publishes, by file name: made from what the program itself checks with. */
export const schemaTexts = (): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(published).map(([name, { schema, title, description }]) => {
      const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'input' });
      const json = {
        $schema,
        $id: `urn:certroll:${name.replace('.schema.json', '')}`,
        title,
        description,
        ...rest,
      };
      return [name, `${JSON.stringify(json, null, 2)}\n`];
    }),
  );

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await mkdir(join(ROOT, 'schemas'), { recursive: true });
  for (const [name, text] of schemaTexts()) await writeFile(join(ROOT, 'schemas', name), text);
}
