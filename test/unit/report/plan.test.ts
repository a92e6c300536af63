import { describe, expect, it } from 'vitest';
import { entryJson } from '../../../src/run/entry-json.js';
import { countEntries, renderPlan } from '../../../src/report/plan.js';
import { faultyWorld, planSteps, ROTATION } from '../../support/worlds.js';

const entry = (id: string, text: string, host?: string) => ({
  id,
  step: 'a/step',
  kind: 'change' as const,
  text,
  ...(host === undefined ? {} : { host }),
});

describe('a plan for people', () => {
  it('names the domain, the folder and each host once, and counts what it shows', () => {
    const plan = planSteps(faultyWorld(['cp1.example.net', 'cp2.example.net']), ROTATION);
    const entries = plan.entries.map(entryJson);
    const lines = renderPlan(entries, false).split('\n');
    expect(lines.slice(0, 8)).toEqual([
      'Hosts are of example.net.',
      'Files named without a folder are in /etc/kubernetes/pki.',
      '',
      'sa-keys/issue',
      '   1. -    record in etcd: rotation run-1 as open',
      '   2. cp1  generate a signing key (rsa-2048) into sa.key.certroll-next',
      '   3.      have the key in sa.key.certroll-next certified, write sa.crt.certroll-next',
      '   4. -    record in etcd: next key of cp1 as issued',
    ]);
    const numbered = lines.filter((line) => /^ *\d+\. /.test(line));
    const gates = numbered.filter((line) => line.includes('gate: '));
    expect(countEntries(entries)).toBe(
      `${numbered.length} entries: ${numbered.length - gates.length} changes and ${gates.length} gates`,
    );
  });

  it('keeps what would be ambiguous: other folders, other domains', () => {
    const text = renderPlan(
      [
        entry('1', 'install /a/x.new as /a/x', 'cp1.a.net'),
        entry('2', 'remove /b/x', 'cp1.b.net'),
        entry('3', 'remove /x', 'cp1.b.net'),
      ],
      false,
    );
    expect(text).toBe(
      [
        'Files named without a folder are in /a.',
        '',
        'a/step',
        '   1. cp1.a.net  install x.new as x',
        '   2. cp1.b.net  remove /b/x',
        '   3.            remove /x',
      ].join('\n'),
    );
  });

  it('sees that folders named for their hosts are one', () => {
    const text = renderPlan(
      ['cp1', 'cp2'].map((host, at) => entry(String(at + 1), `remove /srv/${host}/x`, host)),
      false,
    );
    expect(text).toContain('are in /srv/{host} ({host}: the whole name of the host).');
    expect(text).toMatch(/1\. cp1 {2}remove x\n +2\. cp2 {2}remove x$/);
  });
});
