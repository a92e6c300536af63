import { CertrollError, EXIT } from './errors.js';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Milliseconds of a duration written as Go writes it, with days besides: `90s`, `1h30m`, `30d`.
 * Throws `usage.duration` for anything else (no bare numbers, no signs, no spaces).
 */
export const parseDuration = (text: string): number => {
  if (!/^(\d+(ms|s|m|h|d))+$/.test(text)) {
    throw new CertrollError(`'${text}' is not a duration`, {
      code: 'usage.duration',
      exit: EXIT.usage,
      hint: 'Write a number and a unit, such as 90s, 15m, 12h or 30d.',
    });
  }
  let total = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)(ms|s|m|h|d)/g))
    total += Number(count) * (UNITS[unit ?? ''] ?? NaN);
  return total;
};

/** The two largest units of a length of time, for people: `364d 23h`, `1m 5s`. */
export const formatDuration = (ms: number): string => {
  const sign = ms < 0 ? '-' : '';
  let rest = Math.abs(ms);
  const parts: string[] = [];
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    const size = UNITS[unit] ?? NaN;
    const count = Math.floor(rest / size);
    if (count > 0 || parts.length > 0) parts.push(`${count}${unit}`);
    rest -= count * size;
    if (parts.length === 2) break;
  }
  return sign + (parts.filter((part) => !part.startsWith('0')).join(' ') || '0s');
};

/** How long something lasts still: `65d left`, `expired 35d ago`. */
export const formatLeft = (ms: number): string =>
  ms < 0 ? `expired ${formatDuration(-ms)} ago` : `${formatDuration(ms)} left`;
