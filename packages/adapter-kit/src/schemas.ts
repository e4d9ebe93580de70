import type { JsonSchema, ModelRequest } from "@proviso/core";
import {
  describedSchema,
  isRecord,
  isRecursive,
  looksAround,
  parseJson,
  strictSchema,
  type StrictSchema,
} from "@proviso/core/provider";
import { answerLimits } from "@proviso/runtime/internal";

/** A schema as it goes to the model. */
export interface WireSchema {
  /** The schema as it is sent. */
  readonly schema: JsonSchema;
  /** Whether the service is asked to keep to it strictly. */
  readonly strict: boolean;
}
/** A wire schema with `restore`, which turns what the model answers back into the schema's own form. */
export interface OutputSchema extends WireSchema {
  /** Turns an answer in the wire's form into the schema's own: nulls for absent keys go, a wrapper is opened. */
  restore(value: unknown): unknown;
}

const none: ReadonlySet<string> = new Set();

/**
 * What Gemini passes over in the schema of an output. Source: Gemini API reference, `GenerationConfig`,
 * "responseJsonSchema".
 */
export const ignoredByGemini: ReadonlySet<string> = new Set(
  (
    "pattern minLength maxLength exclusiveMinimum exclusiveMaximum multipleOf uniqueItems minProperties maxProperties " +
    "default examples propertyNames patternProperties contains allOf not if then else"
  ).split(" "),
);

/** Makes something of a schema once, for each set of keywords that a service passes over. */
function once<T>(make: (schema: JsonSchema, ignored: ReadonlySet<string> | undefined) => T) {
  const made = new WeakMap<ReadonlySet<string>, WeakMap<JsonSchema, { readonly of: T }>>();
  return (schema: JsonSchema, ignored?: ReadonlySet<string>): T => {
    const known = made.get(ignored ?? none) ?? new WeakMap<JsonSchema, { readonly of: T }>();
    made.set(ignored ?? none, known);
    const found = known.get(schema) ?? { of: make(schema, ignored) };
    known.set(schema, found);
    return found.of;
  };
}

const strictOf: (schema: JsonSchema, ignored?: ReadonlySet<string>) => StrictSchema | undefined = once(strictSchema);

/**
 * Strict where it can be (`strictSchema`), else as `looseSchema` makes it. What a service would pass over (`ignored`)
 * stands in descriptions. Made once for a schema.
 */
export function outputSchema(schema: JsonSchema, ignored?: ReadonlySet<string>): OutputSchema {
  const strict = strictOf(schema, ignored);
  if (strict !== undefined) return { ...strict, strict: true };
  return { schema: looseSchema(schema, ignored), strict: false, restore: (value) => value };
}

/**
 * A schema for a service that is not asked to keep to it: as it is, but for what some services refuse. A pattern that
 * looks ahead or behind and `propertyNames` stand in the description, and so does what the service would pass over. Made
 * once for a schema.
 */
export const looseSchema: (schema: JsonSchema, ignored?: ReadonlySet<string>) => JsonSchema = once((schema, ignored) =>
  describedSchema(
    schema,
    (keyword, value) =>
      ignored?.has(keyword) !== true && keyword !== "propertyNames" && !bringsLookaround(keyword, value),
  ),
);

/** Schemas that a description does not go into: one of them is described as a whole. */
const closed =
  "not if then else items additionalItems unevaluatedItems unevaluatedProperties dependencies dependentSchemas";
const closedKeywords: ReadonlySet<string> = new Set(closed.split(" "));

/**
 * Whether a keyword is a pattern that looks ahead or behind, or has one where no description goes. Sources:
 * https://github.com/vercel/ai/pull/21037, https://github.com/SmartBear/smartbear-mcp/issues/491.
 */
function bringsLookaround(keyword: string, value: unknown): boolean {
  if (keyword === "pattern") return looksAround(value);
  return closedKeywords.has(keyword) && (keyword !== "items" || Array.isArray(value)) && hasLookaround(value);
}

function hasLookaround(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, part]) =>
    key === "pattern" && typeof part === "string" ? looksAround(part) : hasLookaround(part),
  );
}

/** Whether a schema has parts of its own kind, at any remove. Looked at once for a schema. */
export const isRecursiveSchema: (schema: JsonSchema) => boolean = once(isRecursive);

/**
 * Strict only where every key is required as it is, at every depth, so that no null stands for a key that is left out:
 * for what comes back past `restore`. Arguments do, which reach the tool and the history as the model sent them, and so
 * does an answer that is read from its text. Made once for a schema.
 */
export const toolInputSchema: (schema: JsonSchema) => WireSchema = once((schema) => {
  const strict = everyKeyRequired(schema) ? strictOf(schema) : undefined;
  return strict === undefined
    ? { schema: looseSchema(schema), strict: false }
    : { schema: strict.schema, strict: true };
});

function everyKeyRequired(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return true;
  const { properties, required } = schema as JsonSchema;
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  if (isRecord(properties) && !Object.keys(properties).every((key) => names.includes(key))) return false;
  return Object.values(schema).every(everyKeyRequired);
}

/** A name as every service takes it: `^[a-zA-Z0-9_-]{1,64}$`. */
export function wireName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "output";
}

/** The native payload of a ModelResponse, when there is one: text that is not JSON is left to the runtime. */
export function parsedOutput(output: ModelRequest["output"], text: string): { readonly parsed?: unknown } {
  if (output === undefined || text === "") return {};
  const json = parseJson(text, answerLimits);
  return json.ok ? { parsed: outputSchema(output.schema).restore(json.value) } : {};
}
