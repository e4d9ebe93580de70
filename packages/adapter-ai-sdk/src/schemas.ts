import { strictSchema, type JsonSchema, type ModelRequest, type StrictSchema, type ToolSpec } from "@proviso/core";

/** A schema as it goes to the model. */
export interface WireSchema {
  readonly schema: JsonSchema;
  readonly strict: boolean;
}
/** With the way back of what the model answers into the schema's own form. */
export interface OutputSchema extends WireSchema {
  restore(value: unknown): unknown;
}

const known = new WeakMap<JsonSchema, StrictSchema | "open">();
const asIs = new WeakMap<JsonSchema, WireSchema>();

/** Strict where it can be. */
export function outputSchema({ schema }: NonNullable<ModelRequest["output"]>): OutputSchema {
  const strict = strictOf(schema);
  return strict === undefined ? { schema, strict: false, restore: (value) => value } : { ...strict, strict: true };
}

/**
 * Strict only where no null stands for a key that is left out: for what comes back past `restore`, as arguments do,
 * and an answer that is read from its text.
 */
export function unrestoredSchema({ schema }: Pick<WireSchema, "schema">): WireSchema {
  let wire = asIs.get(schema);
  if (wire === undefined) {
    const strict = everyKeyRequired(schema) ? strictOf(schema) : undefined;
    wire = strict === undefined ? { schema, strict: false } : { schema: strict.schema, strict: true };
    asIs.set(schema, wire);
  }
  return wire;
}

export function toolSchema({ inputSchema }: ToolSpec): WireSchema {
  return unrestoredSchema({ schema: inputSchema });
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
  const isMap = typeof properties === "object" && properties !== null && !Array.isArray(properties);
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  if (isMap && !Object.keys(properties).every((key) => names.includes(key))) return false;
  return Object.values(schema).every(everyKeyRequired);
}

/** A name as every provider takes it. */
export function wireName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "output";
}
