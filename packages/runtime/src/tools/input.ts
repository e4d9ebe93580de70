/** Whether both are the same data. What is no plain data is the same only as itself. */
export function isSameInput(one: unknown, other: unknown, depth = 0): boolean {
  if (Object.is(one, other)) return true;
  if (!isObject(one) || !isObject(other) || depth > deepest) return false;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => isSameInput(item, other[index], depth + 1));
  }
  if (!isPlain(one) || !isPlain(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => Object.hasOwn(other, key) && isSameInput(one[key], other[key], depth + 1));
}

/** Deeper than arguments may be, by far. */
const deepest = 256;

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
