import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { withRestartNote } from '../../../../src/hosts/static-pod/edit.js';
import { RESTARTED_AT } from '../../../../src/hosts/static-pod/manifest.js';
import { kubeadmManifest } from '../../../support/manifests.js';

const FIRST = '2026-01-01T00:00:00.000Z';
const SECOND = '2026-02-02T00:00:00.000Z';

const edited = (source: string, value = FIRST): string => {
  const { text, why } = withRestartNote(source, value);
  if (text === undefined) throw new Error(why);
  return text;
};

/** What a text has that another has not, when all of the other is in it around that. */
const added = (before: string, after: string): string => {
  let start = 0;
  while (start < before.length && before[start] === after[start]) start += 1;
  const tail = before.slice(start);
  expect(after.endsWith(tail)).toBe(true);
  return after.slice(start, after.length - tail.length);
};

const noteIn = (text: string): unknown =>
  (
    parse(text.split('\n---')[0] ?? '', { merge: true }) as {
      metadata: { annotations: Record<string, unknown> };
    }
  ).metadata.annotations[RESTARTED_AT];

const NOTE = new RegExp(`^[\\s{"]*(annotations"?:[\\s{]*)?"?${RESTARTED_AT}"?: "${FIRST}"[\\s},"]*$`);

describe('the note of a restart in a manifest', () => {
  it.each([
    ['kubeadm, with annotations', kubeadmManifest('kube-apiserver')],
    ['kubeadm, without', kubeadmManifest('kube-controller-manager')],
    ['line ends of Windows', kubeadmManifest('kube-apiserver').replaceAll('\n', '\r\n')],
    ['a byte order mark', `\uFEFF${kubeadmManifest('kube-apiserver')}`],
    ['no line end at its end', kubeadmManifest('kube-apiserver').trimEnd()],
    ['comments everywhere', '# a\nmetadata: # b\n  # c\n  name: x # d\n  # e\n# f\nspec: {} # g\n'],
    [
      'comments among annotations',
      'metadata:\n  annotations: # a\n    # of b\n    b: "1" # c\n\n  name: x\n',
    ],
    ['annotations that are null', 'metadata:\n  annotations:\n  name: x\n'],
    ['annotations that are null, with a comment', 'metadata:\n  annotations:  # none\n  name: x\n'],
    ['annotations in braces', 'metadata:\n  annotations: {a: "1",   b: 2}\n  name: x\n'],
    ['no annotations in braces', 'metadata:\n  annotations: { }\n  name: x\n'],
    ['metadata in braces', 'metadata: {name: x, labels: {a: b}}\nspec: {}\n'],
    ['metadata in braces over lines', 'metadata: {\n  name: x,\n  labels: {a: b}\n}\nspec: {}\n'],
    ['JSON', JSON.stringify({ kind: 'Pod', metadata: { name: 'x' }, spec: { containers: [] } })],
    [
      'JSON over lines',
      JSON.stringify({ metadata: { annotations: { a: 'b' }, name: 'x' }, spec: {} }, null, 2),
    ],
    ['odd indents and quotes', 'metadata:\n       "name": \'x\'\n       labels: {}\nspec: {}\n'],
    [
      'a block scalar as the first annotation',
      'metadata:\n  annotations:\n    a: |\n      text\n      certroll.dev/restarted-at: no\n  name: x\n',
    ],
    ['an anchor at its annotations', 'metadata:\n  annotations: &a\n    b: "1"\n  name: x\n'],
    ['several documents', '---\nmetadata:\n  name: x\n---\nmetadata:\n  name: y\n...\n'],
  ])('is all that changes: %s', (name, source) => {
    const once = edited(source);
    expect(added(source, once)).toMatch(NOTE);
    expect(noteIn(once)).toBe(FIRST);
    // A second restart changes the time alone.
    const twice = edited(once, SECOND);
    expect(twice).toBe(once.replace(FIRST, SECOND));
    if (name === 'line ends of Windows') expect(once.match(/(?<!\r)\n/)).toBeNull();
  });

  it.each([
    [
      'null',
      'metadata:\n  annotations: null # none\n  name: x\n',
      'metadata:\n  annotations: {"N": "T"} # none\n  name: x\n',
    ],
    ['~', 'metadata:\n  annotations: ~\n  name: x\n', 'metadata:\n  annotations: {"N": "T"}\n  name: x\n'],
    [
      'a note in other quotes',
      "metadata:\n  annotations:\n    'N': 'old' # c\n",
      'metadata:\n  annotations:\n    \'N\': "T" # c\n',
    ],
    [
      'a note that is null',
      'metadata:\n  annotations:\n    N:\n    b: "1"\n',
      'metadata:\n  annotations:\n    N: "T"\n    b: "1"\n',
    ],
    [
      'a plain note',
      'metadata:\n  annotations: {N: 2026-01-01, b: c}\n',
      'metadata:\n  annotations: {N: "T", b: c}\n',
    ],
  ])('takes the place of %s', (_name, source, expected) => {
    const named = (text: string): string => text.replaceAll('N', RESTARTED_AT).replaceAll('T', FIRST);
    expect(edited(named(source).replaceAll(FIRST, 'T'))).toBe(named(expected));
  });

  it.each([
    ['metadata that is an alias', 'base: &m {name: x}\nmetadata: *m\n'],
    ['annotations that are an alias', 'base: &m {a: b}\nmetadata:\n  name: x\n  annotations: *m\n'],
    ['annotations that another place takes', 'metadata:\n  annotations: &a {b: "1"}\n  name: x\nother: *a\n'],
    ['no metadata', 'kind: Pod\n'],
    ['metadata that is text', 'metadata: x\n'],
    ['no map', '- a\n'],
    ['nothing', ''],
    ['a text that is broken', 'metadata: {name: x\n'],
    ['a tag on a line of its own', 'metadata:\n  !!map\n  name: x\n'],
    ['keys of the long form', 'metadata:\n  ? name\n  : x\n'],
  ])('is refused for %s', (_name, source) => {
    const { text, why } = withRestartNote(source, FIRST);
    expect(text).toBeUndefined();
    expect(why).toMatch(/metadata\.annotations|^it is empty$|^line \d/);
  });

  it('changes nothing else in any text that is made of lines of a manifest', () => {
    const line = fc.constantFrom(
      '  name: x',
      '  # comment',
      '',
      '  labels: {a: "b"}',
      '  labels:\n    a: b',
      '  annotations:\n    a: "b"',
      '  annotations: {}',
      '  annotations:',
      '  annotations:\n    # of a\n    a: |\n      several\n\n      lines\n    b: c',
      '  namespace: "kube-system"  ',
      '  finalizers:\n  - a',
    );
    const end = fc.constantFrom('\n', '\r\n');
    const top = fc.constantFrom('', 'kind: Pod', '# top', 'spec:\n  containers: []', '---');
    fc.assert(
      fc.property(top, fc.uniqueArray(line, { maxLength: 6 }), top, end, (before, lines, after, ending) => {
        const source = [before, 'metadata:', ...lines, after, ''].join('\n').replaceAll('\n', ending);
        const { text } = withRestartNote(source, FIRST);
        if (text === undefined) return;
        expect(added(source, text)).toMatch(NOTE);
        expect(added(source, text).match(ending === '\n' ? /\r/ : /(?<!\r)\n/)).toBeNull();
      }),
      { numRuns: 1000 },
    );
  });
});
