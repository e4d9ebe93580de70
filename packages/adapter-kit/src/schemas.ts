import type { JsonSchema, ModelRequest } from "@proviso/core";
import { isRecord, parseJson, strictSchema, type StrictSchema } from "@proviso/core/provider";
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

const known = new WeakMap<JsonSchema, StrictSchema | "open">();
const unrestored = new WeakMap<JsonSchema, WireSchema>();

/** Strict where it can be (`strictSchema`), else as it is. Made once for a schema. */
export function outputSchema(schema: JsonSchema): OutputSchema {
  const strict = strictOf(schema);
  return strict === undefined ? { schema, strict: false, restore: (value) => value } : { ...strict, strict: true };
}

/**
 * Strict only where every key is required as it is, at every depth, so that no null stands for a key that is left out:
 * for what comes back past `restore`. Arguments do, which reach the tool and the history as the model sent them, and so
 * does an answer that is read from its text. Made once for a schema.
 */
export function toolInputSchema(schema: JsonSchema): WireSchema {
  let wire = unrestored.get(schema);
  if (wire === undefined) {
    const strict = everyKeyRequired(schema) ? strictOf(schema) : undefined;
    wire = strict === undefined ? { schema, strict: false } : { schema: strict.schema, strict: true };
    unrestored.set(schema, wire);
  }
  return wire;
}

function strictOf(schema: JsonSchema): StrictSchema | undefined {
  let strict = known.get(schema);
  if (strict === undefined) {
    strict = strictSchema(schema) ?? "open";
    known.set(schema, strict);
  }
  return strict === "open" ? undefined : strict;
}

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
