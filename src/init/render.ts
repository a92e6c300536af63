import { Document, isMap, isScalar, type Pair } from 'yaml';
import type { Proposal, Setting } from './proposal.js';

const WIDTH = 110;

/** Lines no wider than a screen; an indented line goes on indented. */
const wrap = (line: string): readonly string[] => {
  const indent = /^ */.exec(line)?.[0] ?? '';
  // An example that is to be copied stays whole.
  if (/^ *(issuer|apiserver|controllerManager): \{/.test(line)) return [line];
  const lines: string[] = [];
  let current = indent;
  for (const word of line.trim().split(' ')) {
    const longer = current.trim() === '' ? `${indent}${word}` : `${current} ${word}`;
    if (longer.length <= WIDTH || current.trim() === '') current = longer;
    else {
      lines.push(current);
      current = `${indent}  ${word}`;
    }
  }
  return [...lines, current];
};

/** A comment as the yaml package takes it: what others wrote must not end it. */
const commentOf = (lines: readonly string[]): string =>
  lines
    .map((line) => line.replaceAll(/[\r\n\u2028\u2029\u0000-\u0008\u000b-\u001f\u007f-\u009f]+/g, ' '))
    .flatMap(wrap)
    .map((line) => ` ${line}`)
    .join('\n');

const treeOf = (settings: readonly Setting[]): Record<string, unknown> => {
  const top: Record<string, unknown> = {};
  for (const { path, value } of settings) {
    const keys = path.split('.');
    const last = keys.pop() ?? '';
    let at = top;
    for (const key of keys) at = (at[key] ??= {}) as Record<string, unknown>;
    at[last] = value;
  }
  return top;
};

const pairAt = (document: Document, path: string): Pair | undefined => {
  const keys = path.split('.');
  const last = keys.pop();
  const parent: unknown = keys.length === 0 ? document.contents : document.getIn(keys);
  return isMap(parent) ? parent.items.find(({ key }) => isScalar(key) && key.value === last) : undefined;
};

/** The cluster file, each value with where it was seen. It reads back as what was proposed. */
export const renderClusterFile = ({ settings }: Proposal, heading: readonly string[]): string => {
  const document = new Document(treeOf(settings));
  for (const { path, comment } of settings) {
    const key = pairAt(document, path)?.key;
    if (isScalar(key) && comment.length > 0) key.commentBefore = commentOf(comment);
  }
  const tops = isMap(document.contents) ? document.contents.items : [];
  for (const [at, { key }] of tops.entries()) if (at > 0 && isScalar(key)) key.spaceBefore = true;
  document.commentBefore = commentOf(heading);
  return document.toString({ lineWidth: 0, singleQuote: true });
};
