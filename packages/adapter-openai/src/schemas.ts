import { strictSchema, type JsonSchema, type StrictSchema, type ToolSpec } from "@proviso/core";

/** A schema as it goes on the wire. */
export interface WireSchema {
  readonly schema: JsonSchema;
  readonly strict: boolean;
  /** Brings what the provider answers back into the schema's own form. */
  restore(value: unknown): unknown;
}

const known = new WeakMap<JsonSchema, StrictSchema | "open">();
const tools = new WeakMap<JsonSchema, Omit<WireSchema, "restore">>();

/** Strict where it can be. */
export function outputSchema(schema: JsonSchema): WireSchema {
  const strict = strictOf(schema);
  return strict === undefined ? { schema, strict: false, restore: (value) => value } : { ...strict, strict: true };
}

/**
 * Strict where every key is required as it is: arguments reach the tool, and the history, as the model sent them,
 * so no null may stand for a key that is left out.
 */
export function toolSchema({ inputSchema }: ToolSpec): Omit<WireSchema, "restore"> {
  let wire = tools.get(inputSchema);
  if (wire === undefined) {
    const strict = everyKeyRequired(inputSchema) ? strictOf(inputSchema) : undefined;
    wire = strict === undefined ? { schema: inputSchema, strict: false } : { schema: strict.schema, strict: true };
    tools.set(inputSchema, wire);
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
  const isMap = typeof properties === "object" && properties !== null && !Array.isArray(properties);
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  if (isMap && !Object.keys(properties).every((key) => names.includes(key))) return false;
  return Object.values(schema).every(everyKeyRequired);
}

/** A name as the wire takes it. */
export function wireName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "output";
}
