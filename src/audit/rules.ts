import type { ClusterFacts } from './facts.js';
import * as api from './findings/api.js';
import * as endpoints from './findings/endpoints.js';
import * as files from './findings/files.js';
import * as host from './findings/host.js';
import { keyMismatch } from './findings/key-mismatch.js';
import * as life from './findings/life.js';
import { nameMissing } from './findings/names.js';
import * as secrets from './findings/secrets.js';
import * as shared from './findings/shared.js';
import { staleInMemory } from './findings/stale.js';
import { tokenRefused } from './findings/tokens.js';
import { refusedAfterRestart, refusedNow } from './findings/unverifiable.js';
import { isAtLeast, SEVERITIES, type Finding, type Rule, type Severity } from './rule.js';

/** Everything that an audit looks for. */
export const RULES: readonly Rule[] = [
  host.unreachable,
  host.noApiserver,
  life.expired,
  life.notYetValid,
  life.expiring,
  keyMismatch,
  refusedNow,
  refusedAfterRestart,
  tokenRefused,
  staleInMemory,
  files.missing,
  files.unreadable,
  files.lostBlocks,
  files.manyIssuers,
  files.brokenLink,
  files.openKey,
  files.notSeen,
  nameMissing,
  api.bundleLags,
  api.bundleBroken,
  api.bundleExpiring,
  endpoints.endpointRefused,
  endpoints.endpointUnseen,
  secrets.secretExpired,
  secrets.secretExpiring,
  secrets.secretBroken,
  api.requestsPending,
  api.objectsUnread,
  shared.serialTwice,
  shared.sameKey,
  shared.sameAuthority,
  host.clockSkew,
  host.loopback,
  host.strayManifests,
  host.unread,
  host.changedFlags,
];

/** What all rules find, the gravest first. Two processes that use one file are one finding. Pure. */
export const findingsOf = (facts: ClusterFacts, rules: readonly Rule[] = RULES): readonly Finding[] => {
  const found = rules.flatMap(({ check, ...rule }) =>
    check(facts).map((hit) => ({
      severity: rule.severity,
      why: rule.why,
      action: rule.action,
      ...hit,
      rule: rule.id,
    })),
  );
  const distinct = new Map(
    found.map((each) => [[each.rule, each.host, each.component, each.subject, each.text].join('\0'), each]),
  );
  return [...distinct.values()].sort(
    (a, b) => SEVERITIES.indexOf(b.severity) - SEVERITIES.indexOf(a.severity),
  );
};

/** The findings that make an audit fail. */
export const failing = <T extends Pick<Finding, 'severity'>>(
  findings: readonly T[],
  failOn: Severity,
): readonly T[] => findings.filter(({ severity }) => isAtLeast(severity, failOn));
