import { DefinitionError } from "./errors.ts";
import { isForbiddenKey } from "./json.ts";
import type { JsonSchema } from "./json-schema.ts";
import { readablePath } from "./schema-faults.ts";
import { schemasBelow } from "./validation/schema-keywords.ts";
import { isRecord } from "./values.ts";

/** Schemas are printed once, and many tools may have the same one. */
const possible = /* @__PURE__ */ new WeakSet<JsonSchema>();

/**
 * The schema itself, of JSON that a model writes or that is kept.
 * @throws {DefinitionError} about `what` for a key that no JSON may have (`isForbiddenKey`): what holds it is always refused.
 */
export function withPossibleKeys(json: JsonSchema, what = "A schema"): JsonSchema {
  if (possible.has(json)) return json;
  const path = impossibleKey(json, []);
  if (path === undefined) {
    possible.add(json);
    return json;
  }
  const readable = readablePath(path);
  const message = "is a key that no JSON may have, because it could reach a prototype";
  throw new DefinitionError(`${what} cannot be met: ${readable} ${message}. Give it another name.`, {
    issues: [{ path: readable, message }],
  });
}

/** The way to the first one. */
function impossibleKey(schema: JsonSchema, path: readonly string[]): readonly string[] | undefined {
  const { properties, required } = schema;
  const names = [
    ...(isRecord(properties) ? Object.keys(properties) : []),
    ...(Array.isArray(required) ? required : []),
  ];
  const found: unknown = names.find((name) => typeof name === "string" && isForbiddenKey(name));
  if (typeof found === "string") return [...path, "properties", found];
  for (const { keys, part } of schemasBelow(schema)) {
    const below = isRecord(part) ? impossibleKey(part, [...path, ...keys]) : undefined;
    if (below !== undefined) return below;
  }
  return undefined;
}
