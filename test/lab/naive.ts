import { signRequest } from './cfssl.js';
import type { Lab } from './lab.js';
import { restartPlainly } from './restart.js';
import { publicKeyOf } from './sa-keys.js';
import { CONTROL_PLANES, SA_FILES, type HostSpec } from './settings.js';
import { sshSudo } from './ssh.js';

const STAGED = `${SA_FILES.key}.new`;

/** Writes a file and gives it owner and mode of the one beside it. */
const write = async (host: string, path: string, content: string, like: string): Promise<void> => {
  await sshSudo(host, ['tee', path], content);
  await sshSudo(host, ['chown', `--reference=${like}`, path]);
  await sshSudo(host, ['chmod', `--reference=${like}`, path]);
};

/** A new key on the host, and its certificate from the PKI. */
const issue = async (host: HostSpec): Promise<string> => {
  await sshSudo(host.name, ['openssl', 'genrsa', '-out', STAGED, '2048']);
  const request = await sshSudo(host.name, [
    'openssl',
    'req',
    '-new',
    '-key',
    STAGED,
    '-subj',
    `/CN=${host.fqdn}`,
  ]);
  return signRequest(`${request}\n`);
};

/** The mistake: the new key signs from the first restart on, when the other apiservers have yet to read it. */
const promote = async (host: HostSpec, certificate: string, bundle: string): Promise<void> => {
  await write(host.name, SA_FILES.bundle, bundle, SA_FILES.bundle);
  await sshSudo(host.name, ['chown', `--reference=${SA_FILES.key}`, STAGED]);
  await sshSudo(host.name, ['chmod', `--reference=${SA_FILES.key}`, STAGED]);
  await sshSudo(host.name, ['mv', STAGED, SA_FILES.key]);
  await write(host.name, SA_FILES.certificate, certificate, SA_FILES.certificate);
};

/**
 * The rotation that certroll is to replace: every host gets a new key and everybody's public keys, old and
 * new, and then the apiservers are restarted one by one. All files are right and every restart is careful;
 * yet tokens of the first new key are refused until the last apiserver has been restarted.
 */
export const rotateNaively = async (lab: Lab): Promise<void> => {
  const issued = await Promise.all(
    CONTROL_PLANES.map(async (host) => ({
      host,
      old: await sshSudo(host.name, ['cat', SA_FILES.bundle]),
      certificate: await issue(host),
    })),
  );
  const blocks = issued.flatMap(({ old, certificate }) => [`${old}\n`, publicKeyOf(certificate)]);
  for (const { host, certificate } of issued) await promote(host, certificate, blocks.join(''));
  for (const host of CONTROL_PLANES) await restartPlainly(lab, host.name);
};
