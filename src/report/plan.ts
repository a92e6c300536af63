import { Chalk } from 'chalk';
import { oneLine } from '../core/text.js';
import type { ShownEntry } from './events.js';
import { shortenKids } from './kids.js';

/** The plan for people: by step, each entry numbered, gates marked. Kids are cut to twelve characters. */
export const renderPlan = (entries: readonly ShownEntry[], color: boolean): string => {
  const chalk = new Chalk({ level: color ? 1 : 0 });
  const lines: string[] = [];
  let step = '';
  for (const entry of entries) {
    if (entry.step !== step) lines.push('', chalk.bold(entry.step));
    step = entry.step;
    const host = entry.host === undefined ? '' : `${entry.host}: `;
    const text = shortenKids(oneLine(entry.text));
    lines.push(
      `${entry.id.padStart(4)}. ${entry.kind === 'gate' ? chalk.cyan(`gate: ${text}`) : `${host}${text}`}`,
    );
  }
  return lines.join('\n').replace(/^\n/, '');
};
