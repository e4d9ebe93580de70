import { isRecord, type ModelFailure } from "@proviso/core";

/** Shorter ones are placeholders ("none", "ollama"): hiding them would garble every other word. */
export const shortestKey = 8;

/** The failure without the key, should the service have repeated it. A cause that holds it is left out. */
export function withoutKey(failure: ModelFailure, apiKey: unknown): ModelFailure {
  if (typeof apiKey !== "string" || apiKey.length < shortestKey) return failure;
  const { cause, ...rest } = failure;
  const clean = redacted(rest, apiKey) as typeof rest;
  return cause === undefined || holds(cause, apiKey) ? clean : { ...clean, cause };
}

/** Deeper than any answer that is read. */
const deepest = 300;

function redacted(value: unknown, apiKey: string, depth = 0): unknown {
  if (typeof value === "string") return value.replaceAll(apiKey, "***");
  if (depth > deepest) return undefined;
  if (Array.isArray(value)) return value.map((item: unknown) => redacted(item, apiKey, depth + 1));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([key, item]): [string, unknown] => [
    key.replaceAll(apiKey, "***"),
    redacted(item, apiKey, depth + 1),
  ]);
  return Object.fromEntries(entries);
}

function holds(value: unknown, apiKey: string, depth = 0): boolean {
  if (typeof value === "string") return value.includes(apiKey);
  if (typeof value !== "object" || value === null) return false;
  if (depth > deepest) return true;
  if (
    value instanceof Error &&
    [value.message, value.stack, value.cause].some((part) => holds(part, apiKey, depth + 1))
  )
    return true;
  return Object.values(value).some((item) => holds(item, apiKey, depth + 1));
}
