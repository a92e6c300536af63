import { describe, expect, it } from 'vitest';
import { describeFinding } from '../../../src/changes/plan.js';
import { renderFindings, summarizeFindings } from '../../../src/report/findings.js';
import { planSteps, soundWorld } from '../../support/worlds.js';

const DAY = 86_400_000;

/** The findings of the step itself. */
const findingsAfter = (days: number) => {
  const start = soundWorld(['cp1.example.net', 'cp2.example.net']);
  const later = { ...start, now: new Date(start.now.getTime() + days * DAY) };
  return planSteps(later, ['certificates/check-expiry']).findings;
};

describe('findings', () => {
  it('about certificates are a table', () => {
    expect(renderFindings(findingsAfter(300)).split('\n')).toEqual([
      'SEVERITY  HOST  WHAT                        LEFT  UNTIL',
      'info      cp1   /etc/kubernetes/pki/sa.crt  65d   2027-01-01T00:00:00Z',
      'info      cp2   /etc/kubernetes/pki/sa.crt  65d   2027-01-01T00:00:00Z',
    ]);
    expect(renderFindings(findingsAfter(400))).toMatch(/^critical +cp1 +\S+ +expired 35d ago +2027/m);
  });

  it('count as certificates by what they are, not by how they read', () => {
    const text = '/etc/x.crt: 65d left (2027-01-01T00:00:00.000Z)';
    const alike = { severity: 'critical' as const, host: 'cp1', text };
    expect(renderFindings([alike])).toBe(`SEVERITY  HOST  WHAT\ncritical  cp1   ${text}`);
    expect(summarizeFindings([alike], '30d')).toBe('1 finding.');
  });

  it('say in one sentence what the table says in columns', () => {
    expect(findingsAfter(300).map(describeFinding)[0]).toBe(
      '/etc/kubernetes/pki/sa.crt: 65d left (2027-01-01T00:00:00.000Z)',
    );
  });

  it('are summed up', () => {
    const unseen = {
      severity: 'critical' as const,
      host: 'cp3',
      text: 'no running kube-apiserver was found',
    };
    expect(summarizeFindings(findingsAfter(300), '30d')).toBe(
      '2 certificates: 0 expired, 0 expiring within 30d.',
    );
    expect(summarizeFindings([unseen, ...findingsAfter(340)], '30d')).toBe(
      '2 certificates: 0 expired, 2 expiring within 30d; 1 other finding.',
    );
    expect(summarizeFindings(findingsAfter(400), '30d')).toBe(
      '2 certificates: 2 expired, 0 expiring within 30d.',
    );
    expect(summarizeFindings([], '30d')).toBe('No findings.');
  });

  it('of other kinds need no dates', () => {
    expect(renderFindings([{ severity: 'info', host: undefined, text: 'rotation is due' }])).toBe(
      ['SEVERITY  HOST  WHAT', 'info      -     rotation is due'].join('\n'),
    );
  });
});
