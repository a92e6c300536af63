import { oneLine } from '../core/text.js';
import type { Reporter, RunEvent } from './events.js';
import { countEntries } from './plan.js';

/** What an event says, without time and host. */
const textOf = (event: RunEvent): string => {
  switch (event.type) {
    case 'phase':
      return event.name;
    case 'plan':
      return event.entries.length === 0 ? 'nothing to do' : `planned ${countEntries(event.entries)}`;
    case 'entry':
      return `[${event.id}] ${event.state}: ${event.text}${event.detail === undefined ? '' : `: ${event.detail}`}`;
    case 'progress':
      return event.id === undefined ? event.text : `[${event.id}] ${event.text}`;
    case 'lock':
      return `lock ${event.name} ${event.state}${event.holder === undefined ? '' : `, held by ${event.holder}`}`;
    case 'note':
      return event.level === 'warning' ? `warning: ${event.text}` : event.text;
  }
};

/** One line per event, with time and host: for pipes, cron and logs. */
export const lineReporter = (write: (line: string) => void): Reporter => ({
  show(event) {
    const host = ('host' in event ? event.host : undefined) ?? '-';
    write(`${event.at.toISOString()} ${oneLine(host)} ${oneLine(textOf(event))}\n`);
  },
  end() {
    // Nothing is kept open.
  },
});

/** Warnings only, a line each. */
export const quietReporter = (write: (line: string) => void): Reporter => {
  const lines = lineReporter(write);
  return {
    show(event) {
      if (event.type === 'note' && event.level === 'warning') lines.show(event);
    },
    end() {
      lines.end();
    },
  };
};

/** One JSON object per event, for machines. */
export const jsonReporter = (write: (line: string) => void): Reporter => ({
  show(event) {
    write(`${JSON.stringify(event)}\n`);
  },
  end() {
    // Nothing is kept open.
  },
});
