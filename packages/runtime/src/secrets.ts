import { DefinitionError } from "@proviso/core";

/** The same value with every secret in its texts replaced; the same reference where there is none. */
export type Redact = <T>(value: T) => T;

const replacement = "[secret]";

/** Shorter keys are placeholders ("none", "ollama"): hiding them would garble every other word. */
const shortestSecret = 8;

/** Is this the text of a key, and no placeholder for one? */
export function isSecret(key: unknown): key is string {
  return typeof key === "string" && key.length >= shortestSecret;
}

/**
 * Makes a function that takes these secrets out of what is told: errors, events, logs.
 * @throws {DefinitionError} for a secret that is no text, or an empty one.
 */
export function redactor(given: readonly string[] = []): Redact {
  if (!Array.isArray(given)) throw new DefinitionError("The option secrets must be a list of texts.");
  for (const secret of given) {
    if (typeof secret !== "string" || secret === "") throw new DefinitionError("A secret must be a text, not empty.");
  }
  // Of two that overlap the longer one goes whole.
  const secrets = [...new Set(given.flatMap(asWritten))].toSorted((a, b) => b.length - a.length);
  if (secrets.length === 0) return (value) => value;
  const clean = (text: string): string =>
    secrets.reduce((left, secret) => (left.includes(secret) ? left.replaceAll(secret, replacement) : left), text);
  return (value) => redacted(value, clean, new Map()) as typeof value;
}

/** As it is, and as JSON text and JSON inside JSON text have it: arguments and payloads are told as they came. */
function asWritten(secret: string): readonly string[] {
  const escaped = JSON.stringify(secret).slice(1, -1);
  return [secret, escaped, JSON.stringify(escaped).slice(1, -1)];
}

type Clean = (text: string) => string;

function redacted(value: unknown, clean: Clean, seen: Map<object, unknown>): unknown {
  if (typeof value === "string") return clean(value);
  if (typeof value !== "object" || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  seen.set(value, value);
  const result = value instanceof Error ? redactedError(value, clean, seen) : redactedData(value, clean, seen);
  seen.set(value, result);
  return result;
}

function redactedData(value: object, clean: Clean, seen: Map<object, unknown>): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => redacted(item, clean, seen));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  let changed = false;
  const entries = Object.entries(value).map(([key, item]: [string, unknown]) => {
    const entry = [clean(key), redacted(item, clean, seen)] as const;
    changed ||= entry[0] !== key || entry[1] !== item;
    return entry;
  });
  return changed ? Object.fromEntries(entries) : value;
}

/** An error that shows a secret gives way to one that does not. */
function redactedError(error: Error, clean: Clean, seen: Map<object, unknown>): Error {
  if (!holdsSecret(error, clean, new Set())) return error;
  const { name, message, stack = "" } = error;
  const cause = redacted(error.cause, clean, seen);
  const shown = cause === undefined || holdsSecret(cause, clean, new Set()) ? undefined : { cause };
  return Object.assign(new Error(clean(message), shown), { name, stack: clean(stack) });
}

/** However deep, and in objects of any class: the errors of SDKs carry requests and their headers. */
function holdsSecret(value: unknown, clean: Clean, seen: Set<object>): boolean {
  if (typeof value === "string") return clean(value) !== value;
  if (typeof value !== "object" || value === null || seen.has(value)) return false;
  seen.add(value);
  const parts: readonly unknown[] = value instanceof Error ? [value.message, value.stack, value.cause] : [];
  const errors: readonly unknown[] = value instanceof AggregateError ? value.errors : [];
  return [...parts, ...errors, ...Object.entries(value).flat()].some((part) => holdsSecret(part, clean, seen));
}
