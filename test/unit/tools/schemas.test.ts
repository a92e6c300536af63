import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../support/build.js';
import { schemaTexts } from '../../tools/schemas.js';

describe('the published JSON Schemas', () => {
  it.each([...schemaTexts()])(
    '%s is what the program checks with (npm run schemas writes it anew)',
    (name, text) => {
      expect(readFileSync(join(ROOT, 'schemas', name), 'utf8')).toBe(text);
    },
  );
});
