/** `instanceof` for any thrown value: a revoked proxy cannot be asked for its class, and is of none. */
export function isA<T>(value: unknown, type: abstract new (...given: never[]) => T): value is T {
  try {
    return value instanceof type;
  } catch {
    return false;
  }
}

/** Whether a value can have properties of its own: an object or a function. */
export function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}
