import { isRecord } from "./values.ts";
import { describedSchema, looksAround, sentenceOf, withSentence, type Takes } from "./described-schema.ts";
import { mapParts, mayFit, resolveRef, type JsonSchema } from "./json-schema.ts";

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
    "type properties required additionalProperties items prefixItems enum const anyOf oneOf $ref $defs definitions " +
    "description title default examples $id id pattern format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf " +
    "minItems maxItems minLength maxLength"
  ).split(" "),
);
/** Names of a schema, which say nothing to a model. */
const dropped = new Set(["$id", "id"]);
/** What not every strict service takes: a fine-tuned model of OpenAI's refuses lengths, for example. */
const untaken = new Set(["default", "examples", "minLength", "maxLength"]);
/** What is made anew together with what stands beside it. */
const remade = new Set(["properties", "required", "additionalProperties", "items", "prefixItems"]);
const formats = new Set(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]);
/** What strict services pass over, or refuse. */
const ignoredByStrict: ReadonlySet<string> = new Set(["prefixItems"]);
const isTaken: Takes = (keyword, value) => {
  if (keyword === "format") return formats.has(String(value));
  return keyword === "pattern" ? !looksAround(value) : !untaken.has(keyword);
};

/**
 * Every key required, optional ones as nullable, `additionalProperties: false`, `oneOf` as `anyOf`. What not every strict
 * service takes stands in descriptions, and so does what the one that is asked would pass over (`ignored`): a tuple goes
 * as a list of what any of its places takes, where `prefixItems` is passed over.
 * undefined when the schema cannot be strict: records, open objects, a root that is no object.
 */
export function strictSchema(schema: JsonSchema, ignored = ignoredByStrict): StrictSchema | undefined {
  if (schema["type"] !== "object") return undefined;
  const takes: Takes = (keyword, value) =>
    remade.has(keyword) || !supported.has(keyword) || (isTaken(keyword, value) && !ignored.has(keyword));
  try {
    const described = describedSchema(schema, takes);
    return {
      schema: tighten(ignored.has("prefixItems") ? asLists(described) : described),
      restore: (value) => dropAbsent({ root: schema, known: new Map() }, schema, value),
    };
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
    if (dropped.has(keyword)) continue;
    if (keyword === "anyOf" || keyword === "oneOf") out["anyOf"] = (value as unknown[]).map(tighten);
    else if (keyword === "$defs" || keyword === "definitions") out[keyword] = mapValues(value, tighten);
    else if (keyword === "const") Object.assign(out, value === null ? { type: "null" } : { enum: [value] });
    else if (!remade.has(keyword)) out[keyword] = value;
  }
  if ("items" in schema || "prefixItems" in schema) Object.assign(out, tightenItems(schema));
  const types = [schema["type"]].flat();
  if (types.includes("object")) Object.assign(out, tightenObject(schema));
  const typed = ["type", "anyOf", "$ref", "enum"].some((keyword) => keyword in out);
  if (!typed || (types.includes("array") && !("items" in out || "prefixItems" in out))) throw cannotBeStrict;
  return "$ref" in out ? aloneIn(out) : out;
}

/** A list ends behind the places of a tuple by its length: not every service knows `items: false`. */
function tightenItems(schema: JsonSchema): JsonSchema {
  const { prefixItems: places, items: rest } = schema;
  if (places === undefined) return { items: tighten(rest) };
  if (!Array.isArray(places)) throw cannotBeStrict;
  const prefixItems = places.map(tighten);
  const longest = longestOf(schema);
  return longest > places.length ? { prefixItems, items: tighten(rest) } : { prefixItems, maxItems: longest };
}

/** Makes each tuple a list of what any of its places takes; the description says which place takes what. */
function asLists(schema: JsonSchema): JsonSchema {
  const mapped = mapParts(schema, asLists);
  const { prefixItems: places, items: rest, ...list } = mapped;
  if (!Array.isArray(places)) return mapped;
  const isClosed = longestOf(schema) <= places.length;
  const parts = new Map([...places, ...(isClosed ? [] : [rest])].map((part) => [JSON.stringify(part), part]));
  const [first, ...others] = parts.values();
  if (first === undefined) throw cannotBeStrict;
  const length = isClosed ? { maxItems: longestOf(schema) } : {};
  if (others.length === 0) return { ...list, ...length, items: first };
  const order = sentenceOf([
    ["prefix items", schema["prefixItems"]],
    ...(isClosed ? [] : [["further items", schema["items"]] as const]),
  ]);
  return { ...withSentence(list, order), ...length, items: { anyOf: [first, ...others] } };
}

/** How many items a list has at most. */
function longestOf({ prefixItems, items, maxItems = Infinity }: JsonSchema): number {
  const places = Array.isArray(prefixItems) && items === false ? prefixItems.length : Infinity;
  return Math.min(places, Number(maxItems));
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
  if (allowsNull(schema, schema)) return schema;
  if ("type" in schema && !("enum" in schema)) return { ...schema, type: [schema["type"], "null"].flat() };
  if (Array.isArray(schema["anyOf"]))
    return { ...schema, anyOf: [...(schema["anyOf"] as unknown[]), { type: "null" }] };
  const { description, ...rest } = schema;
  return { anyOf: [rest, { type: "null" }], ...(description === undefined ? {} : { description }) };
}

function allowsNull(root: JsonSchema, schema: JsonSchema): boolean {
  return leavesOf(root, schema).some((leaf) => allows(leaf, null));
}

/** A way back. What was found out is remembered: parts of a union would look at what they share again and again. */
interface Restoring {
  readonly root: JsonSchema;
  readonly known: Map<unknown, WeakMap<object, boolean>>;
}

function dropAbsent(way: Restoring, schema: unknown, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const leaf = leafFor(way, schema, value);
  if (leaf === undefined) return value;
  if (Array.isArray(value)) return value.map((item, at) => dropAbsent(way, itemsAt(leaf, at), item));
  const properties = propertiesOf(leaf);
  const required = requiredOf(leaf);
  const kept = Object.entries(value).filter(([key, item]) => {
    const property = properties[key];
    return item !== null || required.has(key) || (isRecord(property) && allowsNull(way.root, property));
  });
  return Object.fromEntries(kept.map(([key, item]) => [key, dropAbsent(way, properties[key], item)]));
}

/** What a schema consists of when references are followed and unions in unions are taken apart. */
function leavesOf(root: JsonSchema, schema: unknown, seen = new Set<unknown>()): readonly JsonSchema[] {
  if (!isRecord(schema) || seen.has(schema)) return [];
  seen.add(schema);
  if (typeof schema["$ref"] === "string") return leavesOf(root, resolveRef(root, schema["$ref"]), seen);
  const branches = schema["anyOf"] ?? schema["oneOf"];
  return Array.isArray(branches) ? branches.flatMap((branch) => leavesOf(root, branch, seen)) : [schema];
}

/** The leaf that an answer was written for. The first that may be it stands in while an answer is incomplete. */
function leafFor(way: Restoring, schema: unknown, value: object): JsonSchema | undefined {
  const leaves = leavesOf(way.root, schema);
  if (leaves.length < 2) return leaves[0];
  const possible = leaves.filter((leaf) => mayBeFor(way.root, leaf, value));
  return possible.length < 2 ? possible[0] : (possible.find((leaf) => isFor(way, leaf, value)) ?? possible[0]);
}

/** Whether a list is not too long for it, or its discriminators fit, an absent one as null, and it knows all keys. */
function mayBeFor(root: JsonSchema, leaf: JsonSchema, value: object): boolean {
  if (!allows(leaf, value)) return false;
  if (Array.isArray(value)) return value.length <= longestOf(leaf);
  const properties = propertiesOf(leaf);
  return mayFit(root, leaf, withoutNulls(value)) && Object.keys(value).every((key) => Object.hasOwn(properties, key));
}

/** Whether a strict provider can have answered this for the schema: it gives every key, an absent one as null. */
function isFor(way: Restoring, schema: unknown, value: unknown): boolean {
  const leaves = leavesOf(way.root, schema);
  if (typeof value !== "object" || value === null) return leaves.some((leaf) => allows(leaf, value));
  const known = way.known.get(schema) ?? new WeakMap<object, boolean>();
  way.known.set(schema, known);
  const found =
    known.get(value) ?? leaves.some((leaf) => mayBeFor(way.root, leaf, value) && partsFit(way, leaf, value));
  known.set(value, found);
  return found;
}

function partsFit(way: Restoring, leaf: JsonSchema, value: object): boolean {
  if (Array.isArray(value)) {
    const { minItems = 0 } = leaf;
    return value.length >= Number(minItems) && value.every((item, at) => isFor(way, itemsAt(leaf, at), item));
  }
  const required = requiredOf(leaf);
  return Object.entries(propertiesOf(leaf)).every(([key, property]) => {
    const item = Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
    return (item === null && !required.has(key)) || isFor(way, property, item);
  });
}

/** Whether the type of a leaf, its constant and its enum allow a value. */
function allows(leaf: JsonSchema, value: unknown): boolean {
  const kind = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  const { type = kind, enum: allowed = [value], const: only = value } = leaf;
  const types = [type].flat();
  if (!types.includes(kind) && !(Number.isInteger(value) && types.includes("integer"))) return false;
  return only === value && Array.isArray(allowed) && allowed.includes(value);
}

function withoutNulls(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null));
}

function propertiesOf(schema: JsonSchema): JsonSchema {
  return isRecord(schema["properties"]) ? schema["properties"] : {};
}

/** The schema of one place of a list. */
function itemsAt({ prefixItems, items }: JsonSchema, at: number): unknown {
  return Array.isArray(prefixItems) && at < prefixItems.length ? prefixItems[at] : items;
}

function requiredOf(schema: JsonSchema): ReadonlySet<string> {
  return new Set(Array.isArray(schema["required"]) ? (schema["required"] as string[]) : []);
}

function mapValues(record: unknown, map: (value: unknown, key: string) => unknown): Record<string, unknown> {
  if (!isRecord(record)) throw cannotBeStrict;
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}
