import { contentHash } from "@proviso/core/internal";

const longest = 4_096;
const base64 = /[A-Za-z0-9+/_-]{4097,}={0,2}/g;
/** Levels of a payload. */
const deepest = 100;

/** A payload with the length and the hash of base64 in place of what is longer than 4,096 characters. */
export function withoutBytes(value: unknown, depth = 0): unknown {
  if (typeof value === "string") {
    if (value.length <= longest) return value;
    return value.replace(base64, (found) => `[${found.length} characters of base64, hash ${contentHash(found)}]`);
  }
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return `[${value.length} bytes]`;
  if (depth > deepest) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => withoutBytes(item, depth + 1));
  const entries = Object.entries(value).map(([key, item]) => [key, withoutBytes(item, depth + 1)] as const);
  return Object.fromEntries(entries);
}
