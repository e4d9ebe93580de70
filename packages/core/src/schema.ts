import { DefinitionError } from "./errors.ts";
import { describeValue, isRecord, isThenable } from "./values.ts";
import { mapParts, partKeywords, resolveRef, type JsonSchema } from "./json-schema.ts";
import { awaited, ownChecksOf } from "./own-checks.ts";
import { noSchema, unprintable } from "./schema-faults.ts";
import type { SchemaIssue } from "./schema-issue.ts";
import { issueOf, pathText } from "./schema-issues.ts";
import { wellFormedSchema } from "./well-formed-schema.ts";
import type { StandardProps, StandardResult } from "./standard-schema.ts";
import { notValidated, unknownKeysIn } from "./unknown-keys.ts";

export type { JsonSchema } from "./json-schema.ts";

/** Any Standard Schema that also prints JSON Schema: zod ≥ 4.2, valibot, arktype. */
export interface Schema<Input = unknown, Output = unknown> {
  /** The two halves of Standard Schema: validation, and the conversion to JSON Schema. */
  readonly "~standard": StandardProps<Input, Output>;
}
/** What params, tool inputs and event payloads are: an object. */
export type ObjectSchema = Schema<unknown, object>;

/** What a validation answers with: the value as the schema made it, or what it found wrong. */
export type SchemaResult<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      /** The first 100. */
      readonly issues: readonly SchemaIssue[];
      /** How many more there are. Default 0. */
      readonly unlisted?: number | undefined;
    };

/**
 * Validates with the schema and refuses keys, at any depth, that validation dropped because the schema does not name
 * them; a loose schema keeps them. What a transform made another object of is not compared. Returns a promise only if
 * the schema validates asynchronously. Exceptions of the schema propagate.
 */
export function parseWithSchema<T>(
  schema: Schema<unknown, T>,
  value: unknown,
): SchemaResult<T> | Promise<SchemaResult<T>> {
  return settled(
    schema,
    value,
    ownChecksOf(schema) === 0 ? schema["~standard"].validate(value) : awaited(schema, value),
  );
}

function settled<T>(
  schema: Schema<unknown, T>,
  value: unknown,
  result: unknown,
): SchemaResult<T> | Promise<SchemaResult<T>> {
  const known = looseJsonSchemaOf(schema, "input");
  // Promises of libraries and of other realms are no instances of Promise.
  if (isThenable(result)) return Promise.resolve(result).then((late) => settle(schema, known, value, resultIn(late)));
  return settle(schema, known, value, resultIn(result));
}

/**
 * What a library's `validate` returned, if it is a result of Standard Schema: a value, or a list of issues.
 * @throws {TypeError} for all else: it does not say that the value fits.
 */
function resultIn<T>(returned: unknown): StandardResult<T> {
  if (typeof returned === "object" && returned !== null) {
    const { issues } = returned as Partial<StandardResult<T>>;
    if (issues === undefined ? "value" in returned : Array.isArray(issues)) return returned as StandardResult<T>;
  }
  throw new TypeError(`The schema's validate returned ${describeValue(returned)}, which has neither value nor issues.`);
}

/** Like `parseWithSchema`, but synchronous. Throws a DefinitionError about `what` when the schema validates asynchronously. */
export function parseWithSchemaSync<T>(schema: Schema<unknown, T>, value: unknown, what?: string): SchemaResult<T> {
  // No check of the schema is begun: nothing would wait for it.
  if (ownChecksOf(schema) === 2) throw asynchronous(what);
  const result = settled(schema, value, schema["~standard"].validate(value));
  if (!(result instanceof Promise)) return result;
  // The result is not used any more.
  result.catch(() => {});
  throw asynchronous(what);
}

function asynchronous(what = "A value"): DefinitionError {
  return new DefinitionError(
    `${what} cannot be checked: an asynchronous schema cannot be used here. Leave out its checks and transforms that are async or return promises, and do their work before.`,
  );
}

const mostIssues = 100;

type Side = "input" | "output";
const newCache = (): Record<Side, WeakMap<object, JsonSchema>> => ({ input: new WeakMap(), output: new WeakMap() });
const exact = /* @__PURE__ */ newCache();
const keysAlone = /* @__PURE__ */ newCache();

/**
 * The schema as JSON Schema (draft 2020-12), printed once. A DefinitionError when it cannot be printed, about `what`.
 * Default "A schema".
 */
export function jsonSchemaOf(schema: Schema, side: Side, what?: string): JsonSchema {
  return print(schema, side, exact, undefined, what);
}

/**
 * Like `jsonSchemaOf`, but for the keys alone: a part that JSON cannot express (a bigint, a date, a transform) is left
 * open, where the library can.
 */
export function looseJsonSchemaOf(schema: Schema, side: Side, what?: string): JsonSchema {
  return print(schema, side, keysAlone, { unrepresentable: "any" }, what);
}

function print(
  schema: Schema,
  side: Side,
  cache: typeof exact,
  libraryOptions: Record<string, unknown> | undefined,
  what = "A schema",
): JsonSchema {
  if ((typeof schema !== "object" && typeof schema !== "function") || schema === null) throw noSchema(what, schema);
  const known = cache[side].get(schema);
  if (known !== undefined) return known;
  const standard: Partial<Schema["~standard"]> | undefined = schema?.["~standard"];
  if (standard?.jsonSchema === undefined || typeof standard.validate !== "function") throw noSchema(what, schema);
  try {
    const { $schema: _, ...json } = standard.jsonSchema[side]({ target: "draft-2020-12", libraryOptions });
    const written = wellFormedSchema(json);
    cache[side].set(schema, written);
    return written;
  } catch (cause) {
    throw unprintable(what, schema, side, cause);
  }
}

/** What a schema describes at its root. */
export function containerOf(json: JsonSchema): "object" | "array" | "value" {
  if (json["type"] === "object") return "object";
  return json["type"] === "array" ? "array" : "value";
}

/**
 * Libraries whose JSON Schema marks every object that takes further keys. Others print such an object like one that
 * drops them.
 */
const exactVendors: ReadonlySet<string> = new Set(["zod"]);

function settle<T>(
  schema: Schema<unknown, T>,
  known: JsonSchema,
  given: unknown,
  result: StandardResult<T>,
): SchemaResult<T> {
  const validated = result.issues === undefined ? result.value : notValidated;
  const unknown = unknownIssues(schema, known, given, validated);
  if (result.issues === undefined && unknown.count === 0) return { ok: true, value: result.value };
  const own = result.issues?.length === 0 && unknown.count === 0 ? [undefined] : (result.issues ?? []);
  const listed = own.slice(0, mostIssues).map(issueOf);
  const paths = new Set(listed.map(({ path }) => path));
  const added = unknown.issues.filter(({ path }) => !paths.has(path));
  const issues = [...listed, ...added].slice(0, mostIssues);
  const unlisted = own.length + unknown.count - (unknown.issues.length - added.length) - issues.length;
  return { ok: false, issues, ...(unlisted > 0 ? { unlisted } : {}) };
}

function unknownIssues(
  schema: Schema,
  known: JsonSchema,
  given: unknown,
  validated: unknown,
): { readonly issues: readonly SchemaIssue[]; readonly count: number } {
  // The very same value: nothing of it was dropped.
  if (validated === given) return noIssues;
  const isExact = exactVendors.has(schema["~standard"].vendor);
  if ((validated === notValidated && !isExact) || isFlatAndKnown(known, given)) return noIssues;
  const { paths, count } = unknownKeysIn({ schema: known, isExact, most: mostIssues }, given, validated);
  return { issues: paths.map((path) => ({ path: pathText(path), message: "unknown key" })), count };
}

const noIssues = Object.freeze({ issues: [], count: 0 });

/** The usual case, seen at a glance: an object of plain values, all of them named. */
function isFlatAndKnown({ type, properties, allOf, anyOf, oneOf }: JsonSchema, value: unknown): boolean {
  if (type !== "object" || !isRecord(properties) || !isRecord(value)) return false;
  if (allOf !== undefined || anyOf !== undefined || oneOf !== undefined) return false;
  for (const key of Object.keys(value)) {
    if (!Object.hasOwn(properties, key) || (typeof value[key] === "object" && value[key] !== null)) return false;
  }
  return true;
}

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

/** Keywords beside which a key may belong to another part of the schema. */
const composing = ["allOf", "anyOf", "oneOf", "$ref", "patternProperties", "unevaluatedProperties", "if"] as const;

/** `path` is the schema's own reference, as far as one can refer to it. */
function closeIn(schema: JsonSchema, path: string, open: ReadonlySet<string>): JsonSchema {
  if (open.has(path)) return schema;
  const out = mapParts(schema, (part, under) => closeIn(part, under.includes("/") ? `${path}/${under}` : "", open));
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
  for (const part of partsOf(schema, Object.values(partKeywords).flat())) addOpenRefs(root, part, isWithin, open);
  for (const branch of partsOf(schema, ["allOf"])) addOpenRefs(root, branch, true, open);
}

/** The schemas below these keywords; a property may be called like one. */
function partsOf(schema: JsonSchema, keywords: readonly string[]): readonly unknown[] {
  return keywords.flatMap((keyword) => {
    const below = schema[keyword];
    if (Array.isArray(below)) return below;
    return partKeywords.records.some((name) => name === keyword) && isRecord(below) ? Object.values(below) : [below];
  });
}
