import { isRecord } from "./is-record.ts";
import { resolveRef } from "./json-schema.ts";
import { exactVendors, jsonSchemaOf, type JsonSchema, type Schema } from "./schema.ts";

const closed = new WeakMap<JsonSchema, JsonSchema>();

/**
 * Returns the schema that is sent to a model: an object whose further keys would be refused has `additionalProperties:
 * false`. It is made once for a schema. Where a library's JSON Schema does not distinguish such objects from open ones,
 * it is sent as printed.
 * @throws {DefinitionError} when the schema cannot be printed, about `what`.
 */
export function sentSchemaOf(schema: Schema, what?: string): JsonSchema {
  const json = jsonSchemaOf(schema, "input", what);
  if (!exactVendors.has(schema["~standard"].vendor)) return json;
  let sent = closed.get(json);
  if (sent === undefined) {
    sent = closedSchema(json);
    closed.set(json, sent);
  }
  return sent;
}

function closedSchema(root: JsonSchema): JsonSchema {
  const open = new Set<string>();
  addOpenRefs(root, root, false, open);
  return open.has("#") ? root : closeIn(root, "#", open);
}

/** Keywords under which one schema, a list of them or a record of them stand. */
const one = ["items", "additionalProperties"] as const;
const lists = ["anyOf", "oneOf", "prefixItems"] as const;
const records = ["properties", "patternProperties", "$defs", "definitions"] as const;
/** Keywords beside which a key may belong to another part of the schema. */
const composing = ["allOf", "anyOf", "oneOf", "$ref", "patternProperties", "unevaluatedProperties", "if"] as const;

/** `path` is the schema's own reference, as far as one can refer to it. */
function closeIn(schema: JsonSchema, path: string, open: ReadonlySet<string>): JsonSchema {
  if (open.has(path)) return schema;
  const out: Record<string, unknown> = { ...schema };
  for (const keyword of one) if (isRecord(out[keyword])) out[keyword] = closeIn(out[keyword], "", open);
  for (const keyword of lists) {
    const list = out[keyword];
    if (Array.isArray(list)) out[keyword] = list.map((item) => (isRecord(item) ? closeIn(item, "", open) : item));
  }
  for (const keyword of records) {
    const record = out[keyword];
    if (!isRecord(record)) continue;
    const each = ([name, item]: [string, unknown]) =>
      [name, isRecord(item) ? closeIn(item, `${path}/${keyword}/${name}`, open) : item] as const;
    out[keyword] = Object.fromEntries(Object.entries(record).map(each));
  }
  const isPlain = out["type"] === "object" && isRecord(out["properties"]);
  const isOpen = out["additionalProperties"] !== undefined || composing.some((keyword) => keyword in out);
  return isPlain && !isOpen ? { ...out, additionalProperties: false } : out;
}

/** What `allOf` refers to, at any remove: its branches look at the same object, each at its own keys. */
function addOpenRefs(root: JsonSchema, schema: unknown, isWithin: boolean, open: Set<string>): void {
  if (!isRecord(schema)) return;
  const { $ref } = schema;
  if (isWithin && typeof $ref === "string" && !open.has($ref)) {
    open.add($ref);
    addOpenRefs(root, resolveRef(root, $ref), true, open);
  }
  for (const part of partsOf(schema, [...lists, ...one, ...records])) addOpenRefs(root, part, isWithin, open);
  for (const branch of partsOf(schema, ["allOf"])) addOpenRefs(root, branch, true, open);
}

/** The schemas below these keywords; a property may be called like one. */
function partsOf(schema: JsonSchema, keywords: readonly string[]): readonly unknown[] {
  return keywords.flatMap((keyword) => {
    const below = schema[keyword];
    if (Array.isArray(below)) return below;
    return records.some((name) => name === keyword) && isRecord(below) ? Object.values(below) : [below];
  });
}
