import type { KeyBindings } from '../changes/change.js';
import { CertrollError } from '../core/errors.js';
import { kidOf } from '../pem/keys.js';
import type { KeyRef, Loaded, World } from '../trust/world.js';

/** Bindings of one run: the public keys that were observed, and the symbols bound since. */
export class RunBindings implements KeyBindings {
  readonly #publicKeys: Map<KeyRef, string>;
  readonly #onBind: (symbol: KeyRef, kid: string) => void;

  constructor(world: World, onBind: (symbol: KeyRef, kid: string) => void) {
    this.#publicKeys = new Map(world.publicKeys);
    this.#onBind = onBind;
  }

  bind(symbol: KeyRef, publicKeyPem: string): void {
    this.#publicKeys.set(symbol, publicKeyPem);
    this.#onBind(symbol, kidOf(publicKeyPem));
  }

  resolve(ref: KeyRef): { readonly kid: string; readonly publicKeyPem: string } {
    const publicKeyPem = this.#publicKeys.get(ref);
    if (publicKeyPem === undefined) {
      throw new CertrollError(`'${ref}' is used before it exists: a defect of the plan`, {
        code: 'run.unbound-key',
      });
    }
    return { kid: kidOf(publicKeyPem), publicKeyPem };
  }

  /** A predicted world with its symbols replaced by the kids they were bound to, to be compared with an observed one. */
  resolveLoaded(loaded: Loaded): Loaded {
    const kid = (ref: KeyRef): string => this.resolve(ref).kid;
    return {
      ...loaded,
      signs: loaded.signs === undefined ? undefined : kid(loaded.signs),
      verifies: loaded.verifies.map(kid),
    };
  }
}
