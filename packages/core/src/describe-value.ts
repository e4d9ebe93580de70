/** A value as a message can show it: short, and never a throw, whatever it is. */
export function describeValue(value: unknown): string {
  if (typeof value === "string")
    return value.length > 60 ? `a text of ${value.length} characters` : JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol") return "a symbol";
  if (typeof value !== "object" || value === null) return String(value);
  try {
    return Array.isArray(value) ? "a list" : "an object";
  } catch {
    return "a revoked proxy";
  }
}
