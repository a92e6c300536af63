/** The end of the range of keys that begin with the prefix, as etcd wants it; an empty prefix stands for all keys. */
export const prefixEnd = (prefix: string): Buffer => {
  const end = Buffer.from(prefix);
  for (let last = end.length - 1; last >= 0; last -= 1) {
    const byte = end.readUInt8(last);
    if (byte === 0xff) continue;
    end.writeUInt8(byte + 1, last);
    return end.subarray(0, last + 1);
  }
  // etcd's way to say "no end".
  return Buffer.from([0]);
};
