// What has to wait for nothing is done at once: a promise would cost more than most of what is done.

/** Goes on with what is there, or will be. */
export function after<T, R>(value: T | Promise<T>, goOn: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}

/** Collects values: synchronously where none of them is a promise. */
export function allOf<T>(all: readonly (T | Promise<T>)[]): readonly T[] | Promise<readonly T[]> {
  return all.some((each) => each instanceof Promise) ? Promise.all(all) : (all as readonly T[]);
}
