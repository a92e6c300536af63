import { inspect } from 'node:util';

/**
 * A private key, token or password. However it is printed (string, JSON, inspect, template) it
 * reads `[secret]`; only `reveal()` gives the bytes, and only to the function given.
 */
export class Secret {
  readonly #bytes: Buffer;

  constructor(value: string | Uint8Array) {
    this.#bytes = Buffer.from(value as Uint8Array);
  }

  /** Hands the bytes to `use` and returns what it returns. Keep no copy. */
  reveal<T>(use: (bytes: Buffer) => T): T {
    return use(this.#bytes);
  }

  /** Overwrites the bytes; the secret is empty of meaning afterwards. */
  wipe(): void {
    this.#bytes.fill(0);
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}
