/**
 * Plain JSON that is the framework's own, frozen at every depth. What is frozen already is so at every depth: it is not
 * looked into again.
 */
export function frozenJson<T extends object>(value: T): T {
  // No recursion: a tool's result may be nested as deep as JSON can be read.
  const open: object[] = [];
  take(value, open);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (Array.isArray(next)) for (const item of next as readonly unknown[]) take(item, open);
    else for (const key of Object.keys(next)) take((next as Readonly<Record<string, unknown>>)[key], open);
  }
  return value;
}

function take(value: unknown, open: object[]): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  open.push(Object.freeze(value));
}
