import { itemsOf, type ClusterFacts } from '../facts.js';
import type { Item } from '../inventory.js';
import type { Hit, Rule } from '../rule.js';

const hit = ({ host, component, path }: Item, text: string): Hit => ({
  host,
  component,
  subject: path,
  text,
});

/** A pair that a kubelet would make for itself may be missing where it serves on no port. */
const isWanted = ({ named }: Item): boolean => named !== 'by default';

export const missing: Rule = {
  id: 'file-missing',
  severity: 'critical',
  why: 'The running process has it in memory; the next start fails.',
  action: 'Put it back before anything restarts the process.',
  check: (facts) =>
    itemsOf(facts).flatMap((item) => {
      if (item.file?.kind !== 'absent' || !isWanted(item)) return [];
      const { linkTo } = item.file;
      const what = linkTo === undefined ? 'does not exist' : `is a link to ${linkTo}, which does not exist`;
      return [hit(item, `the ${item.role} ${item.path} (${item.named}) ${what}`)];
    }),
};

export const brokenLink: Rule = {
  id: 'kubelet-current-is-no-link',
  severity: 'warning',
  why: 'The kubelet writes each new certificate to a file of its own and turns this link to it: a plain file keeps the old one for ever.',
  action: 'Make it a link to the newest kubelet-client-*.pem beside it, then restart the kubelet.',
  check: (facts) =>
    itemsOf(facts).flatMap((item) =>
      item.path.endsWith('-current.pem') &&
      item.kind === 'certificate' &&
      item.file?.kind === 'file' &&
      item.file.linkTo === undefined
        ? [hit(item, `${item.path} is a plain file, not a link`)]
        : [],
    ),
};

export const unreadable: Rule = {
  id: 'unreadable-by-service',
  severity: 'critical',
  why: 'It was read when the process started; the next start or reload fails.',
  action: 'Give it back the owner, group and mode that its service needs, folders on the way included.',
  check: (facts) =>
    itemsOf(facts)
      .filter(({ isDenied }) => isDenied)
      .map((item) => {
        const { file } = item;
        const meta =
          file?.kind === 'file'
            ? ` (${file.owner}:${file.group} ${file.mode.toString(8).padStart(4, '0')})`
            : '';
        return hit(item, `the user ${item.user}, which its process runs as, cannot read ${item.path}${meta}`);
      }),
};

export const notSeen: Rule = {
  id: 'not-readable',
  severity: 'warning',
  why: 'Nobody knows what is in it: this audit is not complete.',
  action: 'Let the login user read it: with sudo (ssh.sudo), or as root.',
  check: (facts) =>
    itemsOf(facts).flatMap((item) =>
      item.file?.kind === 'unreadable' ? [hit(item, `cannot look at ${item.path}: ${item.file.why}`)] : [],
    ),
};

export const openKey: Rule = {
  id: 'key-readable-by-others',
  severity: 'warning',
  why: 'Any user and any escaped container on that host can take it.',
  action: 'chmod 0600 it, or 0640 with the group of its service.',
  check: (facts) =>
    itemsOf(facts).flatMap((item) =>
      ['key', 'signing-key'].includes(item.kind) &&
      item.file?.kind === 'file' &&
      (item.file.mode & 0o007) !== 0
        ? [
            hit(
              item,
              `every user can read the private key in ${item.path} (mode ${item.file.mode.toString(8).padStart(4, '0')})`,
            ),
          ]
        : [],
    ),
};

export const lostBlocks: Rule = {
  id: 'pem-block-lost',
  severity: 'warning',
  why: 'Its reader passes over that block without a word, or refuses the whole file at its next start.',
  action: 'Write the file anew, block by block.',
  check: (facts: ClusterFacts) =>
    itemsOf(facts).flatMap((item) =>
      item.problems.map((problem) => ({
        ...hit(item, `the ${item.role} ${item.path} (${item.named}): ${problem}`),
        ...(item.loads === false && { severity: 'critical' as const }),
      })),
    ),
};

export const manyIssuers: Rule = {
  id: 'signing-certificate-bundle',
  severity: 'critical',
  why: 'kube-controller-manager takes exactly one: it refuses the file when it reads it again, and does not start with it.',
  action:
    'Leave only the certificate of the signing key there; the bundle belongs into --root-ca-file and --client-ca-file.',
  check: (facts) =>
    itemsOf(facts).flatMap((item) =>
      item.kind === 'issuer' && item.certificates.length > 1
        ? [
            hit(
              item,
              `the ${item.role} ${item.path} (${item.named}) holds ${item.certificates.length} certificates`,
            ),
          ]
        : [],
    ),
};
