/** A value as a message can show it. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (value === null || value === undefined) return String(value);
  return typeof value === "number" || typeof value === "boolean" ? String(value) : `a value of type ${typeof value}`;
}
