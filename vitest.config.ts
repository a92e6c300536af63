import { defineConfig } from 'vitest/config';

/** Four projects: what needs no peer, what explores the model, what talks to real local peers, what needs the lab. */
const project = (name: string, extra: object = {}) => ({
  test: { name, include: [`test/${name}/**/*.test.ts`], testTimeout: 20_000, ...extra },
});

/** Where CI wants the counts, besides what is shown. */
const report = process.env['CERTROLL_TEST_REPORT'];

export default defineConfig({
  test: {
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
    projects: [
      // One after the other: the model test and the peers each want the machine for themselves.
      project('unit', { sequence: { groupOrder: 1 } }),
      project('model', { testTimeout: 120_000, sequence: { groupOrder: 2 } }),
      project('integration', {
        globalSetup: 'test/support/build.ts',
        testTimeout: 60_000,
        hookTimeout: 120_000,
        maxWorkers: 2,
        sequence: { groupOrder: 3 },
      }),
      project('lab', {
        globalSetup: 'test/support/build.ts',
        testTimeout: 900_000,
        hookTimeout: 1_800_000,
        fileParallelism: false,
        sequence: { groupOrder: 4 },
      }),
    ],
  },
});
