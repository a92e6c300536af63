import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { clusterFileSchema } from '../../src/cluster/schema.js';
import { cookbookSchema } from '../../src/cookbook/schema.js';
import { ROOT } from '../support/build.js';

const published: Readonly<Record<string, { readonly schema: z.ZodType; readonly title: string }>> = {
  'cluster.schema.json': { schema: clusterFileSchema, title: 'certroll cluster file' },
  'cookbook.schema.json': { schema: cookbookSchema, title: 'certroll cookbook' },
};

/** The JSON Schemas that the project publishes, by file name: made from what the program itself checks with. */
export const schemaTexts = (): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(published).map(([name, { schema, title }]) => {
      const json = { title, ...z.toJSONSchema(schema, { io: 'input' }) };
      return [name, `${JSON.stringify(json, null, 2)}\n`];
    }),
  );

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await mkdir(join(ROOT, 'schemas'), { recursive: true });
  for (const [name, text] of schemaTexts()) await writeFile(join(ROOT, 'schemas', name), text);
}
