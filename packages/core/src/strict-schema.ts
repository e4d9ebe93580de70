import { isRecord } from "./values.ts";
import { mayFit, resolveRef, type JsonSchema } from "./json-schema.ts";

/** A schema as a strict provider takes it, and the way back for what it answers. */
export interface StrictSchema {
  /** The schema with every property required, as strict mode wants it. */
  readonly schema: JsonSchema;
  /** Drops the nulls that stand for absent optional keys. */
  restore(value: unknown): unknown;
}

/**
 * No keyword outside these is sent to a strict provider. Source: OpenAI's Structured Outputs guide, "Supported
 * schemas".
 */
const supported = new Set(
  (
    "type properties required additionalProperties items enum const anyOf oneOf $ref $defs definitions description " +
    "title default examples $id id pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf " +
    "minItems maxItems minLength maxLength"
  ).split(" "),
);
/** Annotations and checks that the provider does not enforce: they are left out of what is sent. */
const dropped = new Set(["default", "examples", "title", "$id", "id", "minLength", "maxLength"]);
const formats = new Set(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]);

/**
 * Every key required, optional ones as nullable, `additionalProperties: false`, `oneOf` as `anyOf`.
 * undefined when the schema cannot be strict: records, tuples, open objects, a root that is no object.
 */
export function strictSchema(schema: JsonSchema): StrictSchema | undefined {
  if (schema["type"] !== "object") return undefined;
  try {
    return { schema: tighten(schema), restore: (value) => dropAbsent(schema, schema, value) };
  } catch (error) {
    if (error === cannotBeStrict) return undefined;
    throw error;
  }
}

const cannotBeStrict = Symbol("cannot be strict");

function tighten(schema: unknown): JsonSchema {
  if (!isRecord(schema)) throw cannotBeStrict;
  const out: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (!supported.has(keyword)) throw cannotBeStrict;
    if (dropped.has(keyword) || (keyword === "format" && !formats.has(String(value)))) continue;
    if (keyword === "anyOf" || keyword === "oneOf") out["anyOf"] = (value as unknown[]).map(tighten);
    else if (keyword === "items") out["items"] = tighten(value);
    else if (keyword === "$defs" || keyword === "definitions") out[keyword] = mapValues(value, tighten);
    else if (keyword === "const") Object.assign(out, value === null ? { type: "null" } : { enum: [value] });
    else if (!["properties", "required", "additionalProperties"].includes(keyword)) out[keyword] = value;
  }
  if (schema["type"] === "object") Object.assign(out, tightenObject(schema));
  const typed = ["type", "anyOf", "$ref", "enum"].some((keyword) => keyword in out);
  if (!typed || (schema["type"] === "array" && !("items" in out))) throw cannotBeStrict;
  return "$ref" in out ? aloneIn(out) : out;
}

/** Moves the keywords beside a reference around it: a provider refuses them ("$ref cannot have keywords"). */
function aloneIn({ $ref, ...beside }: JsonSchema): JsonSchema {
  return Object.keys(beside).length === 0 ? { $ref } : { anyOf: [{ $ref }], ...beside };
}

function tightenObject(schema: JsonSchema): JsonSchema {
  const rest = schema["additionalProperties"];
  if (rest !== undefined && rest !== false) throw cannotBeStrict;
  // An object of which no key is named takes any: a strict one would have to be empty.
  if (!isRecord(schema["properties"])) throw cannotBeStrict;
  const { properties } = schema;
  const required = requiredOf(schema);
  return {
    properties: mapValues(properties, (property, key) =>
      required.has(key) ? tighten(property) : nullable(tighten(property)),
    ),
    required: Object.keys(properties),
    additionalProperties: false,
  };
}

function nullable(schema: JsonSchema): JsonSchema {
  if (allowsNull(schema)) return schema;
  if ("type" in schema && !("enum" in schema)) return { ...schema, type: [schema["type"], "null"].flat() };
  if (Array.isArray(schema["anyOf"]))
    return { ...schema, anyOf: [...(schema["anyOf"] as unknown[]), { type: "null" }] };
  const { description, ...rest } = schema;
  return { anyOf: [rest, { type: "null" }], ...(description === undefined ? {} : { description }) };
}

function allowsNull(schema: JsonSchema): boolean {
  const type = schema["type"];
  if (type === "null" || (Array.isArray(type) && type.includes("null"))) return true;
  const branches: unknown = schema["anyOf"] ?? schema["oneOf"];
  return Array.isArray(branches) && branches.some((branch) => isRecord(branch) && allowsNull(branch));
}

function dropAbsent(root: JsonSchema, schema: unknown, value: unknown): unknown {
  if (!isRecord(schema) || typeof value !== "object" || value === null) return value;
  if (typeof schema["$ref"] === "string") return dropAbsent(root, resolveRef(root, schema["$ref"]), value);
  const branches = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(branches)) return dropAbsent(root, branchOf(root, branches, value), value);
  if (Array.isArray(value)) return value.map((item) => dropAbsent(root, schema["items"], item));
  const properties = isRecord(schema["properties"]) ? schema["properties"] : {};
  const required = requiredOf(schema);
  const kept = Object.entries(value).filter(([key, item]) => {
    const property = properties[key];
    return item !== null || required.has(key) || (isRecord(property) && allowsNull(property));
  });
  return Object.fromEntries(kept.map(([key, item]) => [key, dropAbsent(root, properties[key], item)]));
}

/** The branch that an answer was written for: its discriminators fit, an absent one as null, and it knows all keys. */
function branchOf(root: JsonSchema, branches: readonly unknown[], value: object): unknown {
  const present = Array.isArray(value) ? value : withoutNulls(value);
  return branches
    .map((branch) =>
      isRecord(branch) && typeof branch["$ref"] === "string" ? resolveRef(root, branch["$ref"]) : branch,
    )
    .find((branch) => {
      if (!isRecord(branch) || branch["type"] !== (Array.isArray(value) ? "array" : "object")) return false;
      if (Array.isArray(value)) return true;
      const properties = isRecord(branch["properties"]) ? branch["properties"] : {};
      return mayFit(root, branch, present) && Object.keys(value).every((key) => Object.hasOwn(properties, key));
    });
}

function withoutNulls(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null));
}

function requiredOf(schema: JsonSchema): ReadonlySet<string> {
  return new Set(Array.isArray(schema["required"]) ? (schema["required"] as string[]) : []);
}

function mapValues(record: unknown, map: (value: unknown, key: string) => unknown): Record<string, unknown> {
  if (!isRecord(record)) throw cannotBeStrict;
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}
