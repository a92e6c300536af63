import { formatDuration } from '../../core/duration.js';
import type { Rule } from '../rule.js';

export const clockSkew: Rule = {
  id: 'clock-skew',
  severity: 'warning',
  why: 'Certificates and tokens are judged by that clock: new ones may not be valid yet, old ones still be taken.',
  action: 'Set it right (chrony, systemd-timesyncd) before anything is issued for this host.',
  check: (facts) =>
    facts.hosts
      .filter(({ clockOffsetMs }) => Math.abs(clockOffsetMs) > facts.limits.clockSkewMs)
      .map(({ name, clockOffsetMs }) => ({
        ...{ host: name, subject: 'clock' },
        text: `its clock is ${(clockOffsetMs / 1000).toFixed(1)} s off the bastion's (allowed: ${facts.limits.clockSkewMs / 1000} s)`,
      })),
};

const YEAR_MS = 365 * 86_400_000;

export const loopback: Rule = {
  id: 'apiserver-loopback-certificate',
  severity: 'warning',
  why: 'An apiserver signs itself a certificate at each start; once that has run out it cannot talk to itself and creates no pods, whatever its files hold (k/k#86552).',
  action: 'Restart this apiserver before then.',
  check: (facts) =>
    facts.hosts.flatMap(({ name: host, processes }) =>
      processes.flatMap(({ component, startedAtMs, loopback: seen }) => {
        if (component !== 'kube-apiserver') return [];
        // What it serves tells (1.34 shows one of three years); else the life that older releases give.
        const end = seen?.notAfter.getTime() ?? startedAtMs + YEAR_MS;
        const left = end - facts.now.getTime();
        if (left >= facts.limits.renewBeforeMs) return [];
        const how = seen ? '' : ' by its age, if it lasts the usual year';
        const when = left < 0 ? `expired ${formatDuration(-left)} ago` : `expires in ${formatDuration(left)}`;
        const text = `the certificate that the apiserver made for itself at its start ${when}${how}`;
        return [
          {
            host,
            component,
            subject: 'loopback certificate',
            text,
            ...(left < 0 && { severity: 'critical' as const }),
          },
        ];
      }),
    ),
};

/** What the kubelet reads as a pod: every name that does not begin with a dot. */
const isPod = (name: string): boolean => !name.startsWith('.');

export const strayManifests: Rule = {
  id: 'stray-manifest',
  severity: 'warning',
  why: 'The kubelet runs every file in that folder, whatever its name ends with: a copy made before a change runs beside, or instead of, what was changed.',
  action: 'Move it out of the folder.',
  check: (facts) =>
    facts.hosts.flatMap(({ name: host, manifests }) =>
      [...manifests].flatMap(([folder, names]) =>
        names
          .filter((name) => isPod(name) && !/\.(ya?ml|json)$/.test(name))
          .map((name) => ({
            ...{ host, component: 'kubelet', subject: `${folder}/${name}` },
            text: `${folder} holds ${name}, which does not look like a manifest and is run as one`,
          })),
      ),
    ),
};

export const changedFlags: Rule = {
  id: 'flags-changed',
  severity: 'info',
  why: 'The next start uses other files than the running process: what was checked in the one says nothing of the other.',
  action: 'Look at the unit and its drop-ins; audit again after the restart.',
  check: (facts) =>
    facts.hosts.flatMap(({ name: host, processes }) =>
      processes.flatMap(({ component, unit, changedFlags: flags }) =>
        flags.length === 0
          ? []
          : [
              {
                host,
                component,
                subject: unit ?? component,
                text: `it would be started with another ${flags.join(', ')} than it runs with`,
              },
            ],
      ),
    ),
};

export const unread: Rule = {
  id: 'document-not-read',
  severity: 'warning',
  why: 'What it names was not looked at: this audit is not complete.',
  action:
    'A kubeconfig or configuration is read in YAML block style, line by line, since nothing secret in it may leave the host.',
  check: (facts) =>
    facts.hosts.flatMap(({ name: host, unread: documents }) =>
      documents.map(({ path, component, why }) => ({
        host,
        component,
        subject: path,
        text: `${path} was not read: ${why}`,
      })),
    ),
};

export const noApiserver: Rule = {
  id: 'no-apiserver-process',
  severity: 'critical',
  why: 'The cluster file calls this host a control plane, and nothing was audited of one there.',
  action: 'See whether it runs; where its program is called otherwise, name its pid file under services.',
  check: (facts) =>
    facts.hosts
      .filter(
        ({ role, processes }) =>
          role === 'control-plane' && !processes.some(({ component }) => component === 'kube-apiserver'),
      )
      .map(({ name }) => ({
        host: name,
        component: 'kube-apiserver',
        subject: 'process',
        text: 'no kube-apiserver runs on it',
      })),
};

export const unreachable: Rule = {
  id: 'not-seen',
  severity: 'critical',
  why: 'Nothing is known of it: this audit is not complete.',
  action: 'Mend what keeps it from being looked at, then audit again.',
  check: ({ failures }) =>
    failures.map(({ host, text, hint }) => ({
      ...(host !== undefined && { host }),
      subject: host ?? 'cluster',
      text: hint === undefined ? text : `${text}. ${hint}`,
    })),
};
