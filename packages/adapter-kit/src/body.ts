import type { ModelFailure } from "@proviso/core";
import { parseJson, type JsonResult, isRecord } from "@proviso/core/provider";
import { closingBracket } from "@proviso/runtime/internal";

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
 * payload.
 */
export function unreadableBody(text: string, error: string): ModelFailure {
  const payload = text.slice(0, keptLength);
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

/** The object under a key; an empty one where there is none. */
export function objectAt(object: unknown, key: string): Json {
  const value = isRecord(object) ? object[key] : undefined;
  return isRecord(value) ? value : {};
}

/** The objects in the list under a key; whatever else stands in it is passed over. */
export function listAt(object: unknown, key: string): readonly Json[] {
  const value = isRecord(object) ? object[key] : undefined;
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** The text under a key; "" where there is none. */
export function textAt(object: unknown, key: string): string {
  const value = isRecord(object) ? object[key] : undefined;
  return typeof value === "string" ? value : "";
}
