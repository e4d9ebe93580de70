import { DefinitionError } from "./errors.ts";
import { isForbiddenKey } from "./json.ts";
import type { JsonSchema } from "./json-schema.ts";
import { readablePath } from "./schema-faults.ts";
import { schemasBelow } from "./validation/schema-keywords.ts";
import { isRecord } from "./values.ts";

/**
 * The schema itself, of JSON that a model writes or that is kept.
 * @throws {DefinitionError} about `what` for a key that no JSON may have (`isForbiddenKey`): what holds it is always refused.
 */
export function withPossibleKeys(json: JsonSchema, what = "A schema"): JsonSchema {
  const found = impossibleKey(json, []);
  if (found === undefined) return json;
  const path = readablePath(found);
  const message = "is a key that no JSON may have";
  throw new DefinitionError(`${what} cannot be met: ${path} ${message}.`, { issues: [{ path, message }] });
}

/** The way to the first one. */
function impossibleKey(schema: JsonSchema, path: readonly string[]): readonly string[] | undefined {
  const { properties = {}, required = [] } = schema as { readonly properties?: object; readonly required?: string[] };
  const name = [...Object.keys(properties), ...required].find(isForbiddenKey);
  if (name !== undefined) return [...path, "properties", name];
  for (const { keys, part } of schemasBelow(schema)) {
    const below = isRecord(part) ? impossibleKey(part, [...path, ...keys]) : undefined;
    if (below !== undefined) return below;
  }
  return undefined;
}
