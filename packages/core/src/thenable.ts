/**
 * Whether `await` would wait for it. Promises of database libraries (Prisma's, Drizzle's) and of other realms are no
 * instances of Promise.
 */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return false;
  return typeof (value as Partial<PromiseLike<unknown>>).then === "function";
}
