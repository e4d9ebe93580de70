import type { Tool } from "@proviso/core";
import { containerOf, jsonSchemaOf, sentSchemaOf } from "@proviso/core/internal";

/** A tool as the protocol writes it. */
export interface ListedTool extends Readonly<Record<string, unknown>> {
  readonly name: string;
  readonly inputSchema: { readonly type: "object" };
  readonly outputSchema?: { readonly type: "object" };
}

/**
 * A tool as a server lists it. `isTrusted`: that it neither destroys anything nor reaches the open world; both hints are
 * true where they are left out, and agents ask a person or a model before each call.
 */
export function listedTool(
  { name, description, input, output, readOnly, idempotent }: Tool,
  isTrusted = false,
): ListedTool {
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

/** The dialect is named: clients of older revisions take draft 7 where it is not. */
const dialect = { $schema: "https://json-schema.org/draft/2020-12/schema" };

/** A tool as `tools/list` of `serveMcp` has it. */
export function servedTool(tool: Tool): ListedTool {
  const { inputSchema, outputSchema, ...listed } = listedTool(tool);
  return {
    ...listed,
    inputSchema: { ...dialect, ...inputSchema },
    ...(outputSchema === undefined ? {} : { outputSchema: { ...dialect, ...outputSchema } }),
  };
}
