import { describe, expect, it } from 'vitest';
import { CertrollError } from '../../../src/core/errors.js';
import { renderError } from '../../../src/report/errors.js';

const plain = { color: false, debug: false };

describe('an error for people', () => {
  it('says what went wrong and what to do', () => {
    const error = new CertrollError('cannot write /etc/x on cp1: no space left', {
      code: 'host.no-space',
      host: 'cp1',
      hint: 'Make room and run again.',
      cause: new Error('ENOSPC'),
    });
    expect(renderError(error, plain)).toBe(
      'certroll: cannot write /etc/x on cp1: no space left\nhint: Make room and run again.',
    );
    const debug = renderError(error, { color: false, debug: true });
    expect(debug).toContain('code: host.no-space, exit status 1');
    expect(debug).toContain('caused by Error: ENOSPC');
  });

  it('names the host where the message does not', () => {
    expect(renderError(new CertrollError('it broke', { code: 'x.y', host: 'cp1' }), plain)).toBe(
      'certroll: it broke\nhost: cp1',
    );
  });

  it('calls anything else a defect, and has colours only when asked', () => {
    expect(renderError(new TypeError('x is undefined'), plain)).toMatch(/defect of certroll/);
    expect(renderError('thrown', plain)).toContain('certroll: thrown');
    expect(renderError('thrown', { color: true, debug: false })).toContain('\u001b[');
  });

  it('keeps its lines and lets nothing through that moves the cursor', () => {
    expect(renderError(new CertrollError('a\n  b\u001b[2Jc\u0000', { code: 'x.y' }), plain)).toBe(
      'certroll: a\n  bc\ufffd',
    );
  });
});
