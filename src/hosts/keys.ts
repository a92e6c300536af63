import { CertrollError, EXIT } from '../core/errors.js';
import type { KeyAlgorithm } from './host.js';
import { PRELUDE, WRITE_STATUS } from './write.js';

/**
 * What openssl is told to make. EC keys in SEC1 form and RSA in any: where a private key file also
 * serves as verification key, kube-apiserver takes no EC key in PKCS#8.
 */
const GENERATE: Readonly<Record<KeyAlgorithm, readonly string[]>> = {
  'rsa-2048': ['genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048'],
  'rsa-3072': ['genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:3072'],
  'rsa-4096': ['genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:4096'],
  'ecdsa-p256': ['ecparam', '-name', 'prime256v1', '-genkey', '-noout'],
  'ecdsa-p384': ['ecparam', '-name', 'secp384r1', '-genkey', '-noout'],
};

/** The openssl arguments that generate a key, less `-out`. */
export const generateArguments = (algorithm: KeyAlgorithm): readonly string[] => GENERATE[algorithm];

/**
 * Arguments: PATH LIKE-or-empty, then the openssl arguments. Prints the public half. A key that is
 * there already is never replaced: its public half is printed instead.
 */
export const GENERATE_SCRIPT = `${PRELUDE}
path=$1 like=$2
shift 2
public_half() {
  openssl pkey -in "$1" -passin pass: -pubout 2>/dev/null || fail ${WRITE_STATUS.taken} "$1 exists and holds no key that openssl can read"
}
target=$(resolve "$path")
if [ -e "$target" ]; then public_half "$target"; exit 0; fi
stage_beside "$target"
openssl "$@" -out "$staged" </dev/null
if ! openssl pkey -in "$staged" -noout; then
  # openssl 3 writes half a key to a full disk and reports success.
  [ "$(stat -f -c %a -- "\${target%/*}")" != 0 ] || fail 1 'No space left on device'
  fail 1 "openssl made no key that it can read itself"
fi
[ -z "$like" ] || take_after "$like" "$staged"
sync -- "$staged"
# A link, not a rename: it fails where someone else was first.
if ln -T -- "$staged" "$target" 2>/dev/null; then sync -- "\${target%/*}"; else [ -e "$target" ] || ln -T -- "$staged" "$target"; fi
public_half "$target"
`;

/** Arguments: KEY SUBJECT CONFIG. The configuration is handed over in a pipe: the host's own openssl.cnf has no say. */
export const REQUEST_SCRIPT = `${PRELUDE}
printf %s "$3" | openssl req -new -sha256 -config /dev/stdin -key "$1" -passin pass: -subj "$2"
`;

/** The `-subj` and the configuration of a certificate request. Throws `usage.subject` for names that no certificate should carry. */
export const requestParts = (subject: {
  readonly commonName: string;
  readonly dnsNames?: readonly string[];
}): { subject: string; config: string } => {
  const { commonName, dnsNames = [] } = subject;
  if (!/^[\x20-\x7e]{1,64}$/.test(commonName))
    throw badName(commonName, 'a common name is 1 to 64 printable ASCII characters');
  const wrong = dnsNames.find((name) => !/^(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(name));
  if (wrong !== undefined) throw badName(wrong, 'a DNS name is letters, digits, dashes and dots');
  const lines = ['[req]', 'distinguished_name = dn', 'string_mask = utf8only'];
  if (dnsNames.length > 0) lines.push('req_extensions = ext');
  lines.push('[dn]');
  if (dnsNames.length > 0)
    lines.push('[ext]', `subjectAltName = ${dnsNames.map((name) => `DNS:${name}`).join(', ')}`);
  return { subject: `/CN=${commonName.replace(/[\\/+]/g, '\\$&')}`, config: `${lines.join('\n')}\n` };
};

const badName = (name: string, hint: string): CertrollError =>
  new CertrollError(`'${name}' cannot go into a certificate request`, {
    code: 'usage.subject',
    exit: EXIT.usage,
    hint,
  });
