import type { Doors } from '../changes/change.js';
import { CertrollError, EXIT } from '../core/errors.js';
import { apiserverAddress, LOOPBACK_NAME } from '../kube/flags.js';

type ProcessDoors = Pick<Doors, 'host' | 'service' | 'api'>;

/** SHA-256 of the certificate that a port of the host itself shows for that name; arguments: ADDRESS:PORT NAME. */
const SHOWN_SCRIPT = `
openssl s_client -connect "$1" -servername "$2" </dev/null 2>/dev/null |
  openssl x509 -outform DER 2>/dev/null | openssl dgst -sha256 -r
`;

/** Where nothing is shown this is the digest of nothing, which no certificate has. */
const shownOnHost = async (
  host: string,
  address: string,
  doors: ProcessDoors,
): Promise<string | undefined> => {
  const { stdout } = await doors
    .host(host)
    .run(['sh', '-c', SHOWN_SCRIPT, 'certroll', address, LOOPBACK_NAME], { readOnly: true });
  return /^[0-9a-f]{64}/.exec(stdout.toString())?.[0];
};

interface Seen {
  readonly pid: number;
  /** Where the process serves on its own host. */
  readonly address: string;
  readonly own: string | undefined;
  readonly asked: string | undefined;
}

/** Undefined for one that does not run: others tell of that in better words. */
const lookAt = async (host: string, doors: ProcessDoors): Promise<Seen | undefined> => {
  const { services } = await doors
    .host(host)
    .readFacts({ services: { 'kube-apiserver': doors.service(host, 'kube-apiserver') } });
  const fact = services.get('kube-apiserver');
  if (fact?.running !== true) return undefined;
  const address = apiserverAddress(fact.argv);
  const [asked, own] = await Promise.all([
    doors.api(host).processCertificate(),
    shownOnHost(host, address, doors),
  ]);
  return { pid: fact.pid, address, own, asked };
};

const isSame = ({ own, asked }: Seen): boolean => asked !== undefined && asked === own;

/** `checkSameProcess` for one host. */
export const checkSameProcessOn = async (host: string, doors: ProcessDoors): Promise<void> => {
  const first = await lookAt(host, doors);
  if (!first || isSame(first)) return;
  // Somebody may have restarted it between the two looks.
  const seen = await lookAt(host, doors);
  if (!seen || isSame(seen)) return;
  const who = seen.asked === undefined ? 'something else' : 'another kube-apiserver';
  throw new CertrollError(
    `${host}: ${doors.api(host).url} is answered by ${who} than the one that runs there (process ${seen.pid}, serving at ${seen.address})`,
    {
      code: 'preflight.other-apiserver',
      exit: EXIT.refused,
      host,
      hint: 'Its answers would be taken for what this host has loaded. See api.port and api.ports, the address of the host in ssh_config, and proxies on the way.',
    },
  );
};

/**
 * Whether each apiserver that certroll asks is the process that it looks at over SSH and restarts: both show the
 * certificate that the process made for itself at its start. A port or address mixed up in the cluster file would make the
 * answers of one apiserver pass for those of another. Throws `preflight.other-apiserver` (exit 4).
 */
export const checkSameProcess = async (doors: Doors): Promise<void> => {
  await Promise.all(doors.apiHosts.map(async (host) => checkSameProcessOn(host, doors)));
};
