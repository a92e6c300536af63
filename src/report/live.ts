import { Chalk } from 'chalk';
import { createLogUpdate } from 'log-update';
import type { Reporter, RunEvent, ShownEntry } from './events.js';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 100;

/**
 * Progress on a terminal: what is done scrolls up and stays; below it, live, one line per host with what is going on
 * there, and one for the lock.
 */
export const liveReporter = (stream: NodeJS.WriteStream): Reporter => {
  const chalk = new Chalk({ level: 1 });
  const update = createLogUpdate(stream);
  const hosts = new Map<string, string>();
  let entries: readonly ShownEntry[] = [];
  let phase = '';
  let lock = '';
  let frame = 0;

  const draw = (): void => {
    frame = (frame + 1) % FRAMES.length;
    const spinner = chalk.cyan(FRAMES[frame] ?? '');
    const lines = [...hosts].map(([host, text]) => `${spinner} ${host}  ${chalk.dim(text)}`);
    if (lock !== '') lines.push(`${spinner} ${chalk.yellow(lock)}`);
    if (lines.length === 0) lines.push(`${spinner} ${phase}`);
    update(lines.join('\n'));
  };
  const timer = setInterval(draw, FRAME_MS);

  /** Prints a line that stays, above the live ones. */
  const keep = (line: string): void => {
    update.clear();
    stream.write(`${line}\n`);
    draw();
  };

  const place = (id: string): string => (entries.length > 0 ? chalk.dim(` ${id}/${entries.length}`) : '');

  const showEntry = (event: RunEvent & { type: 'entry' }): void => {
    const host = event.host ?? '';
    const text = `${host === '' ? '' : `${host}: `}${event.text}`;
    if (event.state === 'started') hosts.set(host === '' ? 'cluster' : host, event.text);
    else hosts.clear();
    if (event.state === 'done') keep(`${chalk.green('✔')}${place(event.id)} ${text}`);
    if (event.state === 'failed') keep(`${chalk.red('✘')}${place(event.id)} ${text}`);
  };

  return {
    show(event) {
      switch (event.type) {
        case 'phase':
          phase = event.name;
          hosts.clear();
          break;
        case 'plan':
          ({ entries } = event);
          break;
        case 'entry':
          showEntry(event);
          break;
        case 'progress':
          hosts.set(event.host ?? 'cluster', event.text);
          break;
        case 'lock':
          lock =
            event.state === 'waiting'
              ? `waiting for the lock ${event.name}, held by ${event.holder ?? 'someone'}`
              : '';
          break;
        case 'note':
          keep(`${event.level === 'warning' ? chalk.yellow('!') : chalk.dim('·')} ${event.text}`);
          break;
      }
    },
    end() {
      clearInterval(timer);
      update.clear();
      update.done();
    },
  };
};
