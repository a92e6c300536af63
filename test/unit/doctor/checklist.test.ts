import { describe, expect, it } from 'vitest';
import { inOrder, ok, warning } from '../../../src/doctor/check.js';
import { Checklist } from '../../../src/doctor/checklist.js';
import { exitOf, type DoctorReport } from '../../../src/doctor/report.js';
import { CertrollError } from '../../../src/core/errors.js';
import { renderDoctor } from '../../../src/report/doctor-table.js';

const refuse = () => {
  throw new CertrollError('no way in', { code: 'ssh.auth', hint: 'Load a key.' });
};

const reportOf = (...lists: readonly Checklist[]): DoctorReport => ({
  version: 1,
  cluster: 'prod',
  at: '2026-01-01T00:00:00Z',
  groups: lists.map(({ checks }, at) => ({ kind: 'host', name: `cp${at + 1}`, role: 'node', checks })),
});

describe('a checklist', () => {
  it('tells a failure once: what needs it is not looked at, and names the first cause', async () => {
    const bastion = new Checklist();
    const list = new Checklist(bastion);
    await bastion.check('ssh-identity', [], () => ok('a key'));
    expect(await list.check('login', ['ssh-identity'], refuse)).toBe(false);
    expect(await list.check('sudo', ['login'], () => ok('never asked'))).toBe(false);
    expect(await list.check('tools', ['sudo'], () => ok('never asked'))).toBe(false);
    expect(await list.check('api', [], () => ok('another way'))).toBe(true);
    expect(list.checks).toEqual([
      { id: 'login', state: 'failed', text: 'no way in', advice: 'Load a key.' },
      { id: 'sudo', state: 'skipped', text: 'not checked: see SSH login', blockedBy: 'login' },
      { id: 'tools', state: 'skipped', text: 'not checked: see SSH login', blockedBy: 'login' },
      { id: 'api', state: 'ok', text: 'another way' },
    ]);
    expect(list.isWell('sudo')).toBe(false);
    expect(exitOf(reportOf(bastion, list))).toBe(1);
  });

  it('goes on after a warning, which alone ends with 3', async () => {
    const list = new Checklist();
    expect(await list.check('tools', [], () => warning('no setpriv', 'Install it.'))).toBe(true);
    expect(await list.check('kube-apiserver', ['tools'], () => ok('runs'))).toBe(true);
    expect(exitOf(reportOf(list))).toBe(3);
    expect(exitOf(reportOf(new Checklist()))).toBe(0);
  });

  it('looks into other lists for what a check needs, and lets a defect through', async () => {
    const bastion = new Checklist();
    await bastion.check('kubeconfig', [], refuse);
    const list = new Checklist(bastion);
    await list.check('api', ['kubeconfig'], () => ok(''));
    expect(list.checks).toMatchObject([{ state: 'skipped', blockedBy: 'kubeconfig' }]);
    const defect = list.check('name', [], () => {
      throw new TypeError('a defect');
    });
    await expect(defect).rejects.toThrow('a defect');
  });

  it('is shown in the order in which one thing needs the other', () => {
    const checks = inOrder([
      { id: 'api', ...ok('') },
      { id: 'clock', ...ok('') },
      { id: 'name', ...ok('') },
    ]);
    expect(checks.map(({ id }) => id)).toEqual(['name', 'clock', 'api']);
  });
});

describe('the table of doctor', () => {
  it('folds nodes without a fault, keeps escape sequences out, and gives each failure its advice', async () => {
    const [one, two, bad] = [new Checklist(), new Checklist(), new Checklist()];
    await one.check('name', [], () => ok('10.0.0.1'));
    await two.check('name', [], () => ok('10.0.0.2'));
    await bad.check('name', [], () => ({ state: 'failed', text: 'a\u001b[31mb\nc', advice: 'Mend it.' }));
    const text = renderDoctor(reportOf(one, two, bad), { color: false, unicode: false });
    expect(text).toContain('cp[1-2]\n  ok   all checks of 2 nodes');
    expect(text).toMatch(/cp3\n {2}FAIL name +ab \| c\n +-> Mend it\./);
    expect(text.split('\n').at(-1)).toBe('prod: 1 failure, 0 warnings, 2 fine: a run would be stopped.');
  });
});
