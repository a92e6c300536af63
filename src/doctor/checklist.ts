import { CertrollError } from '../core/errors.js';
import { failed, TITLES, type Check, type CheckId, type Verdict } from './check.js';

const hintless = 'Run certroll with --debug for the cause.';

/** What an error of a door says, as a verdict. A defect of certroll is none. */
export const verdictOf = (thrown: unknown): Verdict => {
  if (!(thrown instanceof CertrollError)) throw thrown;
  return failed(thrown.message, thrown.hint ?? hintless);
};

/**
 * The checks of one place, each made once those it needs are well: what cannot be looked at because of an earlier failure is
 * told as that, never as another failure.
 */
export class Checklist {
  readonly #checks: Check[] = [];
  readonly #elsewhere: readonly Checklist[];

  /** `elsewhere`: lists whose checks these may need. */
  constructor(...elsewhere: readonly Checklist[]) {
    this.#elsewhere = elsewhere;
  }

  get checks(): readonly Check[] {
    return this.#checks;
  }

  /** Makes a check unless one that it needs is not well; tells whether what it looked at can be used. */
  async check(
    what: CheckId | { readonly id: CheckId; readonly subject: string },
    after: readonly CheckId[],
    look: () => Promise<Verdict> | Verdict,
  ): Promise<boolean> {
    const named = typeof what === 'string' ? { id: what } : what;
    const blocker = this.#blockerAmong(after);
    if (blocker) {
      this.#checks.push({
        ...named,
        state: 'skipped',
        text: `not checked: see ${TITLES[blocker]}`,
        blockedBy: blocker,
      });
      return false;
    }
    let verdict: Verdict;
    try {
      verdict = await look();
    } catch (thrown) {
      verdict = verdictOf(thrown);
    }
    this.#checks.push({ ...named, ...verdict });
    return verdict.state !== 'failed';
  }

  /** Adds what was found out in another way. */
  add(check: Check): void {
    this.#checks.push(check);
  }

  /** Whether a check of this list was made and is well. */
  isWell(id: CheckId): boolean {
    return this.#of(id).some(({ state }) => state === 'ok' || state === 'warning');
  }

  #of(id: CheckId): readonly Check[] {
    return [this, ...this.#elsewhere].flatMap((list) => list.#checks.filter((check) => check.id === id));
  }

  /** The first cause: of a check that was skipped itself, what kept it. */
  #blockerAmong(ids: readonly CheckId[]): CheckId | undefined {
    for (const id of ids) {
      for (const check of this.#of(id)) {
        if (check.state === 'failed') return check.id;
        if (check.state === 'skipped') return check.blockedBy;
      }
    }
    return undefined;
  }
}
