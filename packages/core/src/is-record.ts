/** An object with keys: no list, and not null. Of what class it is does not matter. Never throws. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  try {
    return !Array.isArray(value);
  } catch {
    // A revoked proxy has no keys.
    return false;
  }
}
