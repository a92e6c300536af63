import type { BaseLab } from './base-lab.js';

/** What certroll keeps of a key in etcd, read by etcdctl. */
export interface StoredKey {
  readonly kid: string;
  readonly state: string;
  readonly rotation?: string;
}

export interface StoredRotation {
  readonly id: string;
  readonly state: string;
}

const PREFIX = '/certroll/lab';

/** The key registry as etcdctl sees it. */
export const storedKeys = async (lab: BaseLab): Promise<readonly StoredKey[]> => {
  const text = await lab.etcdctl(['get', '--prefix', `${PREFIX}/sa-keys/`, '--print-value-only']);
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as StoredKey);
};

export const storedRotation = async (lab: BaseLab): Promise<StoredRotation | undefined> => {
  const text = await lab.etcdctl(['get', `${PREFIX}/rotation`, '--print-value-only']);
  return text.trim() === '' ? undefined : (JSON.parse(text) as StoredRotation);
};

/** Keys under a lock's prefix: one for its holder, one for each that waits. */
export const lockKeys = async (lab: BaseLab, name: string): Promise<readonly string[]> => {
  const text = await lab.etcdctl(['get', '--prefix', `${name}/`, '--keys-only']);
  return text.split('\n').filter((line) => line !== '');
};
