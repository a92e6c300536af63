/** A name cut at one of its numbers. */
interface Cut {
  readonly name: string;
  readonly before: string;
  readonly digits: string;
  readonly after: string;
}

/**
 * The shortest writing of some hosts that this finds, for printing: `cp1 cp2 cp3` → `cp[1-3]`.
 * `expandHosts` of it gives the same hosts back, sorted by name and number.
 */
export const foldHosts = (names: readonly string[]): string => foldNames(names).join(',');

/** The same for any names, such as those of processes, as a list: `apiserver@cp1 apiserver@cp2 x` → `apiserver@cp[1-2]`, `x`. */
export const foldNames = (names: readonly string[]): readonly string[] => {
  const left = new Set(names);
  const written: { readonly sort: string; readonly text: string }[] = [];
  for (const group of groups(left)) {
    const members = group.filter((cut) => left.has(cut.name));
    const [first] = members;
    if (first === undefined || members.length < 2) continue;
    for (const member of members) left.delete(member.name);
    const list = foldNumbers(members.map((member) => member.digits));
    written.push({ sort: first.name, text: `${first.before}[${list}]${first.after}` });
  }
  for (const name of left) written.push({ sort: name, text: name });
  return written.sort((one, other) => byNumber(one.sort, other.sort)).map(({ text }) => text);
};

/** Names that differ in one number only, the largest groups first: each number of each name is tried. */
const groups = (names: ReadonlySet<string>): Cut[][] => {
  const found = new Map<string, Cut[]>();
  for (const name of names) {
    for (const match of name.matchAll(/\d+/g)) {
      const before = name.slice(0, match.index);
      const after = name.slice(match.index + match[0].length);
      const key = `${before}\0${after}`;
      const group = found.get(key) ?? [];
      group.push({ name, before, digits: match[0], after });
      found.set(key, group);
    }
  }
  return [...found.values()].sort((one, other) => other.length - one.length);
};

/** `1 2 3 7` → `1-3,7`, keeping zero padding: `08 09 10` → `08-10`, but `9 010` stays two. */
const foldNumbers = (numbers: readonly string[]): string => {
  const ranges: { first: string; last: string }[] = [];
  for (const digits of [...numbers].sort(byWidth)) {
    const range = ranges.at(-1);
    if (range !== undefined && follows(range, digits)) range.last = digits;
    else ranges.push({ first: digits, last: digits });
  }
  return ranges.map(({ first, last }) => (first === last ? first : `${first}-${last}`)).join(',');
};

const follows = ({ first, last }: { first: string; last: string }, digits: string): boolean => {
  if (BigInt(digits) !== BigInt(last) + 1n) return false;
  const padded = [first, digits].some((text) => text.length > 1 && text.startsWith('0'));
  return !padded || digits.length === first.length;
};

const collator = new Intl.Collator('en', { numeric: true });
const byNumber = (one: string, other: string): number =>
  collator.compare(one, other) || (one < other ? -1 : 1);
/** Shorter ones first: `3` must not stand between `02` and `03`. */
const byWidth = (one: string, other: string): number => one.length - other.length || byNumber(one, other);
