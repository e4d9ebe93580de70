import { DefinitionError } from "./errors.ts";
import type { JsonSchema } from "./json-schema.ts";

/**
 * A schema as it may go to a wire: in its texts U+FFFD stands for each half of a surrogate pair. The same object where
 * there is none.
 * @throws {DefinitionError} for a property or an allowed value with a half: nothing else could stand in its place.
 */
export function wellFormedSchema(schema: JsonSchema): JsonSchema {
  return mended(schema, false) as JsonSchema;
}

/** `exact`: what stands there is a value that is meant as it is. */
function mended(value: unknown, exact: boolean): unknown {
  if (typeof value === "string") {
    if (value.isWellFormed()) return value;
    if (exact) throw refused("A value", value);
    return value.toWellFormed();
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => mended(item, exact));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const entries = Object.entries(value).map(([key, item]: [string, unknown]) => {
    if (!key.isWellFormed()) throw refused("A property", key);
    return [key, mended(item, exact || isExact(key)), item] as const;
  });
  return entries.some(([, item, before]) => item !== before)
    ? Object.fromEntries(entries.map(([key, item]) => [key, item]))
    : value;
}

function isExact(key: string): boolean {
  return key === "enum" || key === "const" || key === "pattern" || key === "required" || key === "$ref";
}

function refused(what: string, text: string): DefinitionError {
  const shown = JSON.stringify(text.slice(0, 60));
  return new DefinitionError(`${what} of a schema holds half a surrogate pair, which no service takes: ${shown}.`);
}
