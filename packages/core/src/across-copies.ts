/**
 * Returns what all copies of a package in this process have together, which the first that needs it makes. A process may
 * have several copies: of several versions, or because a bundler puts one into each of a program's parts. `name` has the
 * number of its form, so that copies of another form have something else.
 */
export function acrossCopies<T extends object>(name: string, make: () => T): T {
  const key = Symbol.for(`@proviso/${name}`);
  const all = globalThis as unknown as Record<symbol, T | undefined>;
  const known = all[key];
  if (known !== undefined) return known;
  const made = make();
  try {
    // Not listed: a program that looks through its globals does not find it.
    Object.defineProperty(all, key, { value: made });
  } catch {
    // The globals of a hardened program are frozen: each copy has its own there.
  }
  return made;
}
