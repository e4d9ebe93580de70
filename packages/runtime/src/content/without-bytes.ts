import { contentHash } from "@proviso/core/internal";
import type { Failure } from "../failures.ts";
import { valueRedactor } from "../secrets.ts";

const longest = 4_096;
const base64 = /[A-Za-z0-9+/_-]{4097,}={0,2}/g;
/** Levels of a payload that are copied; what lies deeper is copied where it holds base64. */
const deepest = 100;

/** A text with the length and the hash of base64 in place of what is longer than 4,096 characters. */
function shortened(text: string): string {
  if (text.length <= longest) return text;
  return text.replace(base64, (found) => `[${found.length} characters of base64, hash ${contentHash(found)}]`);
}

/** Errors and objects of any other class: what holds long base64 is copied, and all else stays as it is. */
const inObjects = valueRedactor(shortened, false);

/** A payload, or the cause of an error, without long base64 and without bytes. */
export function withoutBytes(value: unknown): unknown {
  return copied(value, 0);
}

function copied(value: unknown, depth: number): unknown {
  if (typeof value === "string") return shortened(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return `[${value.length} bytes]`;
  if (depth > deepest) return inObjects(value);
  if (Array.isArray(value)) return value.map((item: unknown) => copied(item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return inObjects(value);
  const entries = Object.entries(value).map(([key, item]) => [key, copied(item, depth + 1)] as const);
  return Object.fromEntries(entries);
}

/** A failure whose cause and payload are without bytes. */
export function failureWithoutBytes(why: Failure): Failure {
  const { cause, payload } = why;
  if (cause === undefined && payload === undefined) return why;
  return {
    ...why,
    ...(cause === undefined ? {} : { cause: withoutBytes(cause) }),
    ...(payload === undefined ? {} : { payload: withoutBytes(payload) }),
  };
}
