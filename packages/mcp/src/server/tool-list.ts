import type { Tool } from "@proviso/core";
import { containerOf, jsonSchemaOf, sentSchemaOf } from "@proviso/core/internal";

/**
 * A tool as a server lists it. `isTrusted`: that it neither destroys anything nor reaches the open world; both hints are
 * true where they are left out, and agents ask a person or a model before each call.
 */
export function listedTool(
  { name, description, input, output, readOnly, idempotent }: Tool,
  isTrusted = false,
): Record<string, unknown> & { readonly name: string; readonly inputSchema: { readonly type: "object" } } {
  const outputSchema = output === undefined ? undefined : jsonSchemaOf(output, "output");
  // The protocol's older revision knows structured content of objects alone.
  const isObject = outputSchema !== undefined && containerOf(outputSchema) === "object";
  return {
    name,
    description: description.toWellFormed(),
    inputSchema: { ...sentSchemaOf(input), type: "object" },
    ...(isObject ? { outputSchema: { ...outputSchema, type: "object" } } : {}),
    annotations: {
      readOnlyHint: readOnly === true,
      idempotentHint: idempotent === true,
      ...(isTrusted ? { destructiveHint: false, openWorldHint: false } : {}),
    },
  };
}
