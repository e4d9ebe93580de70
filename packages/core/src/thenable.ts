import { DefinitionError } from "./errors.ts";

/**
 * Whether `await` would wait for it. Promises of database libraries (Prisma's, Drizzle's) and of other realms are no
 * instances of Promise.
 */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return false;
  return typeof (value as Partial<PromiseLike<unknown>>).then === "function";
}

/**
 * Returns the result of a function that has to answer synchronously. The rejection of a promise is swallowed.
 * @throws {DefinitionError} for a promise.
 */
export function atOnce<T>(returned: T): T {
  if (!isThenable(returned)) return returned;
  Promise.resolve(returned).catch(() => {});
  throw new DefinitionError("It must be answered at once, not with a promise.");
}
