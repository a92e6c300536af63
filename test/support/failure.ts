import { access } from 'node:fs/promises';
import { expect, vi } from 'vitest';
import { CertrollError } from '../../src/core/errors.js';

/** The CertrollError that a promise fails with; fails the test when there is none, or another kind. */
export const failure = async (promise: Promise<unknown>): Promise<CertrollError> => {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(CertrollError);
  return error as CertrollError;
};

/** Waits until a file exists: a command's way to say that it runs. */
export const appears = (path: string): Promise<void> =>
  vi.waitFor(() => access(path), { timeout: 10_000, interval: 20 });
