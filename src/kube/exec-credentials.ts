import type { ExecaError } from 'execa';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';

/** What a program gave: a token, a client certificate, or both. */
export interface ExecCredentials {
  readonly token?: string | undefined;
  readonly clientCertificateData?: string | undefined;
  readonly clientKeyData?: string | undefined;
}

/** `users[].user.exec` of a kubeconfig. */
const specSchema = z.object({
  apiVersion: z.string().default('client.authentication.k8s.io/v1'),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
});
type ExecSpec = z.output<typeof specSchema>;

const answerSchema = z.object({
  status: z.object({
    expirationTimestamp: z.string().optional(),
    token: z.string().optional(),
    clientCertificateData: z.string().optional(),
    clientKeyData: z.string().optional(),
  }),
});
type ExecStatus = z.output<typeof answerSchema>['status'];

/** Long enough for a person to log in or to touch a hardware token. */
const DEFAULT_MS = 60_000;
/** A credential that is about to expire is not sent on its way. */
const SPARE_MS = 10_000;

const whyItFailed = (error: ExecaError, timeoutMs: number): string => {
  if (error.timedOut) return `did not end within ${timeoutMs} ms`;
  if (error.signal !== undefined) return `was ended by ${error.signal}`;
  return error.exitCode === undefined
    ? `could not be started (${error.code ?? 'unknown reason'})`
    : `exited with ${error.exitCode}`;
};

/** Runs the program once. No message holds what it printed: that is the credential. */
const run = async (spec: ExecSpec, folder: string, timeoutMs: number): Promise<ExecStatus> => {
  const fail = (why: string): Error => new Error(`${spec.command}, which the kubeconfig names, ${why}`);
  const isInteractive = process.stdin.isTTY;
  const info = { apiVersion: spec.apiVersion, kind: 'ExecCredential', spec: { interactive: isInteractive } };
  // As kubectl: a relative path starts at the kubeconfig, a bare name is looked for in PATH.
  const program = spec.command.includes('/') ? resolve(folder, spec.command) : spec.command;
  // Few kubeconfigs name a program; the others need not load it.
  const { execa, ExecaError: Failed } = await import('execa');
  let stdout;
  try {
    ({ stdout } = await execa(program, spec.args ?? [], {
      env: {
        ...Object.fromEntries((spec.env ?? []).map(({ name, value }) => [name, value])),
        KUBERNETES_EXEC_INFO: JSON.stringify(info),
      },
      // What it asks a person is asked on the terminal.
      stdin: isInteractive ? 'inherit' : 'ignore',
      stderr: 'inherit',
      timeout: timeoutMs,
    }));
  } catch (thrown) {
    throw fail(
      thrown instanceof Failed ? whyItFailed(thrown as ExecaError, timeoutMs) : 'could not be started',
    );
  }
  try {
    return answerSchema.parse(JSON.parse(stdout)).status;
  } catch {
    throw fail('printed no ExecCredential');
  }
};

/**
 * Credentials of the program that a kubeconfig names, run when they are first needed and again when they have expired.
 * client-node can run it too, but without a limit of time, twice a request, and with what it printed in its errors.
 */
export const execCredentials = (
  exec: unknown,
  kubeconfig: string,
  timeoutMs: number = DEFAULT_MS,
): (() => Promise<ExecCredentials>) => {
  const spec = specSchema.parse(exec);
  let last: Promise<ExecStatus> | undefined;
  return async () => {
    const known = await last?.catch(() => undefined);
    const ends = Date.parse(known?.expirationTimestamp ?? '');
    // One that does not say when it expires is good for as long as this process lives.
    if (known && !(ends - SPARE_MS <= Date.now())) return known;
    last = run(spec, dirname(kubeconfig), timeoutMs);
    return last;
  };
};
