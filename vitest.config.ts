import { defineConfig } from 'vitest/config';

/** Projects: what needs no peer, what explores the model, what talks to real local peers, what needs a lab, by flavour. */
const project = (name: string, extra: object = {}) => ({
  test: { name, include: [`test/${name}/**/*.test.ts`], testTimeout: 20_000, ...extra },
});

/** One lab of each flavour on a machine: its test files take turns. */
const lab = {
  globalSetup: 'test/support/build.ts',
  testTimeout: 900_000,
  hookTimeout: 1_800_000,
  fileParallelism: false,
};

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
      project('lab', { ...lab, exclude: ['test/lab/kubeadm/**'], sequence: { groupOrder: 4 } }),
      project('lab-kubeadm', {
        ...lab,
        include: ['test/lab/kubeadm/**/*.test.ts'],
        sequence: { groupOrder: 5 },
      }),
    ],
  },
});
