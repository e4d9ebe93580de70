import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { DefinitionError } from "./errors.ts";
import { isRecord } from "./is-record.ts";

/** Any Standard Schema that also prints JSON Schema: zod ≥ 4.2, valibot, arktype. */
export interface Schema<Input = unknown, Output = unknown> {
  readonly "~standard": StandardSchemaV1.Props<Input, Output> & StandardJSONSchemaV1.Props<Input, Output>;
}
/** What params, tool inputs and event payloads are: an object. */
export type ObjectSchema = Schema<unknown, object>;

/** A JSON Schema as plain data, as providers take it. */
export type JsonSchema = { readonly [key: string]: unknown };
/** What a schema found wrong, with a dotted path ("" is the value itself). */
export interface SchemaIssue {
  readonly path: string;
  readonly message: string;
}

/** What a validation answers with: the value as the schema made it, or all that it found wrong. */
export type SchemaResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly SchemaIssue[] };

/** Validates with the schema and refuses keys it does not name, at any depth; a loose schema takes them. */
export async function parseWithSchema<T>(schema: Schema<unknown, T>, value: unknown): Promise<SchemaResult<T>> {
  return validateWithSchema(schema, value);
}

/** The same, at once where the schema is; what it throws is thrown. */
export function validateWithSchema<T>(
  schema: Schema<unknown, T>,
  value: unknown,
): SchemaResult<T> | Promise<SchemaResult<T>> {
  const unknownKeys = findUnknownKeys(keysSchemaOf(schema, "input"), value);
  const result = schema["~standard"].validate(value);
  return result instanceof Promise ? result.then((late) => settle(late, unknownKeys)) : settle(result, unknownKeys);
}

/** The same, at once. A DefinitionError when the schema validates asynchronously. */
export function parseWithSchemaSync<T>(schema: Schema<unknown, T>, value: unknown): SchemaResult<T> {
  const unknownKeys = findUnknownKeys(keysSchemaOf(schema, "input"), value);
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise) {
    // Nobody waits for it any more.
    result.catch(() => {});
    throw new DefinitionError("An asynchronous schema cannot be used here.");
  }
  return settle(result, unknownKeys);
}

/** "path: message; path: message", as a model or a person reads it. */
export function describeIssues(issues: readonly SchemaIssue[]): string {
  return issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("; ");
}

type Side = "input" | "output";
const newCache = (): Record<Side, WeakMap<object, JsonSchema>> => ({ input: new WeakMap(), output: new WeakMap() });
const exact = newCache();
const keysAlone = newCache();

/** The schema as JSON Schema (draft 2020-12), printed once. A DefinitionError when it cannot be printed. */
export function jsonSchemaOf(schema: Schema, side: Side): JsonSchema {
  return print(schema, side, exact, undefined);
}

/**
 * The same, for its keys alone: what JSON cannot say (a bigint, a date, a transform) is left open, where the library
 * can.
 */
export function keysSchemaOf(schema: Schema, side: Side): JsonSchema {
  return print(schema, side, keysAlone, { unrepresentable: "any" });
}

function print(
  schema: Schema,
  side: Side,
  cache: typeof exact,
  libraryOptions: Record<string, unknown> | undefined,
): JsonSchema {
  const known = cache[side].get(schema);
  if (known !== undefined) return known;
  const standard: Partial<Schema["~standard"]> | undefined = schema?.["~standard"];
  if (standard?.jsonSchema === undefined) {
    throw new DefinitionError("A schema must be a Standard Schema that prints JSON Schema: zod 4.2 or later, say.");
  }
  try {
    const { $schema: _, ...json } = standard.jsonSchema[side]({ target: "draft-2020-12", libraryOptions });
    cache[side].set(schema, json);
    return json;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new DefinitionError(`A schema cannot be written as JSON Schema: ${why}`, { cause });
  }
}

/** What a schema describes at its root. */
export function containerOf(json: JsonSchema): "object" | "array" | "value" {
  if (json["type"] === "object") return "object";
  return json["type"] === "array" ? "array" : "value";
}

function settle<T>(result: StandardSchemaV1.Result<T>, unknownKeys: readonly SchemaIssue[]): SchemaResult<T> {
  if (result.issues === undefined) {
    return unknownKeys.length === 0 ? { ok: true, value: result.value } : { ok: false, issues: unknownKeys };
  }
  const issues = result.issues.map(({ path, message }) => ({ path: pathText(path), message }));
  return { ok: false, issues: [...issues, ...unknownKeys.filter((own) => !issues.some((i) => i.path === own.path))] };
}

function pathText(path: StandardSchemaV1.Issue["path"]): string {
  return (path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".");
}

/** Keys that the JSON Schema does not name, where it does not allow others. */
function findUnknownKeys(root: JsonSchema, value: unknown): readonly SchemaIssue[] {
  if (isFlatAndKnown(root, value)) return none;
  const unknownKeys = (schema: unknown, at: unknown, path: string): readonly SchemaIssue[] => {
    if (!isRecord(schema) || typeof at !== "object" || at === null) return [];
    const { $ref, allOf, anyOf, oneOf, ...own } = schema;
    const branches = anyOf ?? oneOf;
    const parts = [
      ...(typeof $ref === "string" ? [resolveRef(root, $ref)] : []),
      ...(Array.isArray(allOf) ? (allOf as unknown[]) : []),
      ...(Array.isArray(branches) ? [{ anyOf: branches }] : []),
    ];
    // Keys may be named beside them too.
    if (parts.length > 0 && "properties" in own) return inAll([...parts, own], at, path);
    if (parts.length > 1 || Array.isArray(allOf)) return inAll(parts, at, path);
    if (Array.isArray(branches)) return inBranches(branches, at, path);
    if (parts.length === 1) return unknownKeys(parts[0], at, path);
    if (Array.isArray(at)) {
      const prefix: unknown[] = Array.isArray(schema["prefixItems"]) ? schema["prefixItems"] : [];
      return at.flatMap((item, index) =>
        unknownKeys(prefix[index] ?? schema["items"], item, join(path, String(index))),
      );
    }
    return inObject(schema, at as Record<string, unknown>, path);
  };
  // Of a union's branches the one that leaves least unexplained counts.
  const inBranches = (branches: readonly unknown[], at: object, path: string): readonly SchemaIssue[] => {
    const fitting = branches.filter((branch) => isRecord(branch) && mayFit(root, branch, at));
    const found = fitting.map((branch) => unknownKeys(branch, at, path));
    return found.toSorted((a, b) => a.length - b.length)[0] ?? [];
  };
  // Of an intersection's parts one has to know a key: only what all find unknown, itself or with its parent, is.
  const inAll = (parts: readonly unknown[], at: object, path: string): readonly SchemaIssue[] => {
    const found = parts.map((part) => unknownKeys(part, at, path));
    const byAll = found.flat().filter((issue) => found.every((issues) => issues.some((other) => holds(other, issue))));
    return byAll.filter((issue, index) => byAll.findIndex((other) => other.path === issue.path) === index);
  };
  const inObject = (schema: JsonSchema, at: Record<string, unknown>, path: string): readonly SchemaIssue[] => {
    const properties = isRecord(schema["properties"]) ? schema["properties"] : {};
    const rest = schema["additionalProperties"];
    const patterns = isRecord(schema["patternProperties"]) ? Object.entries(schema["patternProperties"]) : [];
    const said = schema["type"] === "object" || "properties" in schema;
    const closed = said && (rest === false || (rest === undefined && patterns.length === 0));
    return Object.keys(at).flatMap((key) => {
      if (Object.hasOwn(properties, key)) return unknownKeys(properties[key], at[key], join(path, key));
      const pattern = patterns.find(([source]) => new RegExp(source, "u").test(key));
      if (pattern !== undefined) return unknownKeys(pattern[1], at[key], join(path, key));
      return closed ? [{ path: join(path, key), message: "unknown key" }] : unknownKeys(rest, at[key], join(path, key));
    });
  };
  return unknownKeys(root, value, "");
}

const none: readonly never[] = Object.freeze([]);

/** The usual case, seen at a glance: an object of plain values, all of them named. */
function isFlatAndKnown({ type, properties, allOf, anyOf, oneOf }: JsonSchema, value: unknown): boolean {
  if (type !== "object" || !isRecord(properties) || !isRecord(value)) return false;
  if (allOf !== undefined || anyOf !== undefined || oneOf !== undefined) return false;
  for (const key of Object.keys(value)) {
    if (!Object.hasOwn(properties, key) || (typeof value[key] === "object" && value[key] !== null)) return false;
  }
  return true;
}

/** A branch fits when its type does, and the properties that are constants or enums (a discriminator). */
export function mayFit(root: JsonSchema, branch: JsonSchema, at: object): boolean {
  const schema = typeof branch["$ref"] === "string" ? resolveRef(root, branch["$ref"]) : branch;
  if (!isRecord(schema)) return false;
  const type = schema["type"];
  if (type !== undefined && ![type].flat().includes(Array.isArray(at) ? "array" : "object")) return false;
  const properties = isRecord(schema["properties"]) ? schema["properties"] : {};
  return Object.entries(properties).every(([key, property]) => {
    if (!isRecord(property) || !Object.hasOwn(at, key)) return true;
    const value = (at as Record<string, unknown>)[key];
    if ("const" in property) return property["const"] === value;
    return !Array.isArray(property["enum"]) || property["enum"].includes(value);
  });
}

function holds(outer: SchemaIssue, inner: SchemaIssue): boolean {
  return inner.path === outer.path || inner.path.startsWith(`${outer.path}.`);
}

/** A local reference ("#/$defs/Name" or "#"); undefined when it leads nowhere. */
export function resolveRef(root: JsonSchema, ref: string): unknown {
  if (!ref.startsWith("#")) return undefined;
  const names = ref
    .slice(1)
    .split("/")
    .filter((name) => name !== "");
  return names.reduce<unknown>((at, name) => {
    const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
    return isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }, root);
}

function join(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}
