/** Whole numbers as CEL has them: `inputs.count + 1` is an overload of two ints. */
export const toCel = (value: unknown): unknown => {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(toCel);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toCel(item)]));
};

const isPlainObject = (value: unknown): value is Record<string, unknown> => {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/**
 * A value of CEL as plain data. Throws an Error for what a setting could not hold: times, types, bytes, whole
 * numbers beyond those that JavaScript keeps exactly.
 */
export const fromCel = (value: unknown): unknown => {
  if (typeof value === 'bigint') {
    const number = Number(value);
    if (!Number.isSafeInteger(number)) throw new Error(`${value} is too large a number`);
    return number;
  }
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new Error(`${value} is not a number to work with`);
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value;
  if (Array.isArray(value)) return value.map(fromCel);
  const entries = value instanceof Map ? [...(value as Map<unknown, unknown>)] : undefined;
  if (entries ?? isPlainObject(value))
    return Object.fromEntries(
      (entries ?? Object.entries(value as object)).map(([key, item]) => [String(key), fromCel(item)]),
    );
  throw new Error('it gives neither text, number, true or false, nor a list or map of those');
};

/** A value inside a longer text. Throws an Error for lists, maps and null, whose form nobody could foresee. */
export const asText = (value: unknown): string => {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return String(value);
  const what = value === null ? 'null' : Array.isArray(value) ? 'a list' : 'a map';
  throw new Error(`${what} cannot be part of a text`);
};
