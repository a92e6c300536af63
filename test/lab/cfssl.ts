import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { agentFor, ask } from './http.js';
import { BASTION, CFSSL_LABEL, CFSSL_PORT, LOAD_BALANCER } from './settings.js';

export const CFSSL_URL = `https://${LOAD_BALANCER.address}:${CFSSL_PORT}`;

interface CfsslAnswer {
  readonly success: boolean;
  readonly result?: { readonly certificate?: string };
  readonly errors?: readonly { readonly message: string }[];
}

const call = async (path: string, body: unknown): Promise<CfsslAnswer> => {
  const agent = agentFor(
    { ca: await readFile(BASTION.cfssl.ca, 'utf8') },
    { serverName: LOAD_BALANCER.fqdn },
  );
  const answer = await ask(agent, { url: `${CFSSL_URL}/api/v1/cfssl/${path}`, method: 'POST', body });
  return JSON.parse(answer.body) as CfsslAnswer;
};

/** True when the PKI answers for the label that the lab uses. */
export const cfsslAnswers = async (): Promise<boolean> =>
  (await call('info', { label: CFSSL_LABEL })).success;

/** Has a request (PEM) signed by the lab's PKI, authenticated as cfssl's own client does it. */
export const signRequest = async (certificateRequest: string): Promise<string> => {
  const key = Buffer.from((await readFile(BASTION.cfssl.authKey, 'utf8')).trim(), 'hex');
  const request = Buffer.from(
    JSON.stringify({ certificate_request: certificateRequest, label: CFSSL_LABEL }),
  );
  const token = createHmac('sha256', key).update(request).digest('base64');
  const answer = await call('authsign', { token, request: request.toString('base64') });
  const certificate = answer.result?.certificate;
  if (answer.success && certificate !== undefined) return certificate;
  throw new Error(
    `cfssl refused to sign: ${answer.errors?.map((error) => error.message).join('; ') ?? 'no reason given'}`,
  );
};
