import { Secret } from '../core/secret.js';

/** The bytes that go to a command's standard input. A secret's bytes are handed on, never copied into a string. */
export const bytesOf = (stdin: string | Uint8Array | Secret | undefined): Buffer => {
  if (stdin === undefined) return Buffer.alloc(0);
  if (stdin instanceof Secret) return stdin.reveal((bytes) => bytes);
  return typeof stdin === 'string'
    ? Buffer.from(stdin)
    : Buffer.from(stdin.buffer, stdin.byteOffset, stdin.byteLength);
};
