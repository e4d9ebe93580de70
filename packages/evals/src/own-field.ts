/**
 * Returns the field of this name that a record has itself; undefined: it has none. Scorers and variants may be called as
 * members of Object.prototype are, "constructor" for example.
 */
export function ownField<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
