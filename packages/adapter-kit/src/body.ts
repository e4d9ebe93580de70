import type { ModelFailure } from "@proviso/core";
import { parseJson, type JsonResult } from "@proviso/core/provider";
import { beginningOf, closingBracket, openSecrets } from "@proviso/runtime/internal";

/** Characters of a body, or of one event of a stream, that are read at the most. */
export const longestBody = 64 * 1024 * 1024;
/** Bytes of a stream that are read at the most: each of its pieces repeats names and ids. */
export const longestStream = 4 * longestBody;
/** Characters of an unreadable body that are kept. */
const keptLength = 4_096;

/** JSON of a body, or of one event of a stream. */
export function parseBody(text: string): JsonResult {
  return parseJson(text, { maxDepth: 256, maxLength: longestBody });
}

/**
 * The failure of a body that `parseBody` did not read. One that is empty, or that begins as JSON and ends inside it,
 * was cut, and is worth asking again (`unknown`); any other is `invalid_response`. Its first 4,096 characters are the
 * payload; where one of `secrets` stands across their end, what is before it.
 */
export function unreadableBody(text: string, error: string, secrets?: readonly string[]): ModelFailure {
  const payload = beginningOf(text, keptLength, openSecrets(secrets));
  if (isCut(text)) {
    return { failure: "throttle", kind: "unknown", message: "The provider's answer ends inside its JSON.", payload };
  }
  return invalidResponse(`The provider's answer cannot be read: ${error}.`, payload);
}

/** The failure of an answer that came whole and is none. */
export function invalidResponse(message: string, payload: unknown): ModelFailure {
  return { failure: "provider", reason: "invalid_response", message, payload };
}

function isCut(text: string): boolean {
  const start = text.search(/\S/);
  if (start === -1) return true;
  return (text[start] === "{" || text[start] === "[") && closingBracket(text, start) === undefined;
}

/** A JSON object as it came over a wire: nothing in it is trusted. */
export type Json = Readonly<Record<string, unknown>>;

/** undefined for what has no fields. */
function fieldOf(object: unknown, key: string): unknown {
  return typeof object === "object" && object !== null ? (object as Json)[key] : undefined;
}

function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const nothing: Json = Object.freeze({});

/** The object under a key; an empty one where there is none. */
export function objectAt(object: unknown, key: string): Json {
  const value = fieldOf(object, key);
  return isJson(value) ? value : nothing;
}

/** The objects in the list under a key; whatever else stands in it is passed over. */
export function listAt(object: unknown, key: string): readonly Json[] {
  const value = fieldOf(object, key);
  return Array.isArray(value) ? value.filter(isJson) : [];
}

/** The text under a key; "" where there is none. */
export function textAt(object: unknown, key: string): string {
  const value = fieldOf(object, key);
  return typeof value === "string" ? value : "";
}

/** The number under a key that can be counted; undefined leaves it to the runtime's estimate. */
export function countAt(object: unknown, key: string): number | undefined {
  const value = fieldOf(object, key);
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}
