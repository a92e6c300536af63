import { CertrollError, EXIT } from '../core/errors.js';

/** The error of a plan that cannot be made in this world; nothing has been touched. */
export const refuse = (host: string, text: string, hint: string): CertrollError =>
  new CertrollError(`${host}: ${text}`, { code: 'plan.refused', exit: EXIT.refused, host, hint });
