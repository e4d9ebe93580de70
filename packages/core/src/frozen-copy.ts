import { isPlain } from "./values.ts";

/**
 * A frozen copy of what a definition was given: nothing that is done to the object later reaches it. Its lists are copied
 * as well. Of an instance of a class the named fields are, with its methods, which keep the instance as their `this`.
 */
export function frozenCopy<T extends object>(given: T, names: readonly string[]): T {
  const copy = (isPlain(given) ? { ...given } : namedFields(given, names)) as Record<string, unknown>;
  for (const name in copy) {
    const value = copy[name];
    if (Array.isArray(value)) copy[name] = Object.freeze([...(value as readonly unknown[])]);
  }
  return Object.freeze(copy) as T;
}

function namedFields(given: object, names: readonly string[]): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const name of names) {
    const value = (given as Readonly<Record<string, unknown>>)[name];
    if (value !== undefined) fields[name] = typeof value === "function" ? value.bind(given) : value;
  }
  return fields;
}
