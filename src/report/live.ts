import { Chalk } from 'chalk';
import { createLogUpdate } from 'log-update';
import { formatDuration } from '../core/duration.js';
import { fitColumns, oneLine } from '../core/text.js';
import type { Reporter, RunEvent } from './events.js';
import { shortenKids } from './kids.js';
import { lineReporter } from './lines.js';

export interface LiveStyle {
  readonly color: boolean;
  readonly unicode: boolean;
  readonly now: () => number;
}

const FRAME_MS = 100;
/** A host that says nothing for this long is shown with the time since. */
const QUIET_MS = 5000;

const UNICODE = {
  frames: ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'],
  done: '✔',
  failed: '✘',
  note: '·',
};
const ASCII = { frames: ['|', '/', '-', '\\'], done: 'ok', failed: 'FAILED', note: '-' };

/** What goes on at one place, and since when. */
interface Doing {
  readonly text: string;
  readonly since: number;
}

const styleFrom = (env: NodeJS.ProcessEnv): LiveStyle => ({
  color: (env['NO_COLOR'] ?? '') === '',
  unicode: /utf-?8/i.test(env['LC_ALL'] ?? env['LC_CTYPE'] ?? env['LANG'] ?? ''),
  now: Date.now,
});

/**
 * Progress on a terminal: what is done scrolls up and stays; below it, live, the phase, one line per host with what is
 * going on there, and one for the lock. One line per event where the stream is no terminal, or one that cannot move its
 * cursor.
 */
export const liveReporter = (
  stream: NodeJS.WriteStream,
  style: LiveStyle = styleFrom(process.env),
): Reporter => {
  if (!stream.isTTY || process.env['TERM'] === 'dumb') return lineReporter((line) => stream.write(line));
  return new LiveView(stream, style);
};

class LiveView implements Reporter {
  readonly #stream: NodeJS.WriteStream;
  readonly #style: LiveStyle;
  readonly #chalk: InstanceType<typeof Chalk>;
  readonly #signs: typeof UNICODE;
  readonly #update: ReturnType<typeof createLogUpdate>;
  #timer: NodeJS.Timeout | undefined;
  readonly #doing = new Map<string, Doing>();
  #phase = '';
  #lock = '';
  #total = 0;
  #finished = 0;
  #frame = 0;

  constructor(stream: NodeJS.WriteStream, style: LiveStyle) {
    this.#stream = stream;
    this.#style = style;
    this.#chalk = new Chalk({ level: style.color ? 1 : 0 });
    this.#signs = style.unicode ? UNICODE : ASCII;
    // Hides the cursor while it draws; the cursor comes back at end() and when the process ends in any way.
    this.#update = createLogUpdate(stream);
  }

  show(event: RunEvent): void {
    this.#timer ??= setInterval(() => this.#draw(), FRAME_MS).unref();
    switch (event.type) {
      case 'phase':
        this.#phase = event.name;
        this.#doing.clear();
        break;
      case 'plan':
        this.#total = event.entries.length;
        break;
      case 'entry':
        this.#showEntry(event);
        break;
      case 'progress':
        this.#doNow(event.host, event.text);
        break;
      case 'lock':
        this.#lock =
          event.state === 'waiting'
            ? `waiting for the lock ${event.name}, held by ${event.holder ?? 'someone'}`
            : '';
        break;
      case 'note':
        this.#keep(
          event.level === 'warning' ? this.#chalk.yellow('!') : this.#chalk.dim(this.#signs.note),
          event.text,
        );
        break;
    }
  }

  end(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#doing.clear();
    this.#update.clear();
    this.#update.done();
  }

  #doNow(host: string | undefined, text: string): void {
    this.#doing.set(host ?? 'cluster', { text, since: this.#style.now() });
  }

  #showEntry(event: RunEvent & { readonly type: 'entry' }): void {
    const { host, state, id } = event;
    if (state === 'started') {
      this.#doNow(host, event.text);
      return;
    }
    this.#doing.delete(host ?? 'cluster');
    if (state === 'done') this.#finished += 1;
    const sign =
      state === 'done'
        ? this.#chalk.green(this.#signs.done)
        : state === 'waiting'
          ? this.#chalk.yellow(this.#signs.note)
          : this.#chalk.red(this.#signs.failed);
    const place = this.#total > 0 ? this.#chalk.dim(` ${id}/${this.#total}`) : '';
    this.#keep(`${sign}${place}`, host === undefined ? event.text : `${host}: ${event.text}`);
  }

  /** Prints a line that stays, above the live ones. */
  #keep(sign: string, text: string): void {
    this.#update.clear();
    this.#stream.write(`${sign} ${shortenKids(oneLine(text))}\n`);
    this.#draw();
  }

  #draw(): void {
    this.#frame += 1;
    this.#update(this.#lines().join('\n'));
  }

  /** The live lines; each is cut to the terminal, since a wrapped line could not be drawn over. */
  #lines(): readonly string[] {
    const { frames } = this.#signs;
    const spinner = this.#chalk.cyan(frames[this.#frame % frames.length] ?? '');
    const room = Math.max(10, this.#stream.columns - 3);
    const counted = this.#phase === 'apply' && this.#total > 0 ? ` ${this.#finished}/${this.#total}` : '';
    const head = `${spinner} ${this.#chalk.bold(fitColumns(this.#phase + counted, room))}`;
    const hosts = [...this.#doing].map(([host, doing]) => {
      const name = fitColumns(oneLine(host), room);
      return `  ${name}  ${this.#chalk.dim(fitColumns(this.#textOf(doing), Math.max(0, room - name.length - 2)))}`;
    });
    const lock = this.#lock === '' ? [] : [`  ${this.#chalk.yellow(fitColumns(oneLine(this.#lock), room))}`];
    // More hosts than rows would scroll; the rest is counted.
    const most = Math.max(1, this.#stream.rows - 3);
    const shown = hosts.length > most ? [...hosts.slice(0, most), `  … ${hosts.length - most} more`] : hosts;
    return [head, ...shown, ...lock];
  }

  #textOf({ text, since }: Doing): string {
    const quiet = this.#style.now() - since;
    return shortenKids(oneLine(text)) + (quiet >= QUIET_MS ? ` (${formatDuration(quiet)})` : '');
  }
}
