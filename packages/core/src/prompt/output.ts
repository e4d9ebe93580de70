import { DefinitionError } from "../errors.ts";
import { withPossibleKeys } from "../keys-in-schema.ts";
import { isRecord } from "../values.ts";
import { sentSchemaOf, containerOf, type JsonSchema, type Schema } from "../schema.ts";

/** What the answer has to be. */
export interface OutputSpec<Output> {
  readonly schema: Schema<unknown, Output>;
  /** Arrays and values travel wrapped, `{ items }` and `{ value }`, where a provider wants an object. */
  readonly container: "object" | "array" | "value";
  /** What the model is asked to write. */
  readonly jsonSchema: JsonSchema;
}

/** @throws {DefinitionError} when the schema cannot be written as JSON Schema, has a key that no JSON may have, or takes any text. */
export function outputSpec<Output>(schema: Schema<unknown, Output>, what?: string): OutputSpec<Output> {
  const jsonSchema = withPossibleKeys(sentSchemaOf(schema, what), what);
  if (takesAnyText(schema)) {
    throw new DefinitionError(
      `${what ?? "An output"} takes any text, but would be asked for as JSON: leave output out, and the answer's text is the output.`,
    );
  }
  return Object.freeze({ schema, container: containerOf(jsonSchema), jsonSchema });
}

/**
 * Whether the schema is `z.string()` without a check. It is inspected and not tried out: a check runs an application's
 * code.
 */
function takesAnyText(schema: Schema): boolean {
  const { _zod: zod } = schema as { readonly _zod?: { readonly def?: unknown } };
  const def = isRecord(zod) && isRecord(zod.def) ? zod.def : {};
  const { type, checks = [], format, coerce } = def;
  return type === "string" && Array.isArray(checks) && checks.length === 0 && format === undefined && coerce !== true;
}

/** The key under which an array or a value travels. */
export const wrapperKey = { array: "items", value: "value" } as const;

/** The schema as an object, for providers that want one at the root. */
export function wrappedSchema({ container, jsonSchema }: OutputSpec<unknown>): JsonSchema {
  if (container === "object") return jsonSchema;
  const key = wrapperKey[container];
  const { $defs, ...own } = jsonSchema;
  const recursive = refersToRoot(jsonSchema);
  const defs = { ...($defs as JsonSchema | undefined), ...(recursive ? { [movedRoot]: own } : {}) };
  const wrapper = {
    type: "object",
    properties: { [key]: recursive ? { $ref: "#" } : own },
    required: [key],
    additionalProperties: false,
    ...(Object.keys(defs).length === 0 ? {} : { $defs: defs }),
  };
  return recursive ? (moveRoot(wrapper) as JsonSchema) : wrapper;
}

/** Where a root that refers to itself ("#") goes when it is wrapped. */
const movedRoot = "__root";

function refersToRoot(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  return Object.entries(schema).some(([key, value]) => (key === "$ref" && value === "#") || refersToRoot(value));
}

function moveRoot(schema: unknown): unknown {
  if (typeof schema !== "object" || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(moveRoot);
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === "$ref" && value === "#" ? `#/$defs/${movedRoot}` : moveRoot(value),
    ]),
  );
}

/** How the answer is asked for in the prompt's text. */
export function outputInstructions(spec: OutputSpec<unknown>): string {
  return [
    "Answer with JSON alone, in one ```json block, that matches this JSON Schema:",
    "```json",
    JSON.stringify(spec.jsonSchema),
    "```",
  ].join("\n");
}
