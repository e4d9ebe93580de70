import { definePrompt, DefinitionError, type OutputOf, type PromptTemplate, type Schema } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";

export interface Payload {
  readonly payload: string;
}

const jsonSchema = {
  type: "object",
  properties: { payload: { type: "string", pattern: "\\S" } },
  required: ["payload"],
  additionalProperties: false,
};

/** One text with something in it. Written out, so that no schema library is needed. */
const payloadSchema: Schema<Payload, Payload> = {
  "~standard": {
    version: 1,
    vendor: "proviso",
    validate(value) {
      const { payload } = value as { readonly payload: unknown };
      if (typeof payload === "string" && payload.trim() !== "") return { value: { payload } };
      const found = payload === null ? "null" : typeof payload === "string" ? "an empty one" : describeValue(payload);
      return { issues: [{ message: `must be a text with something in it, not ${found}`, path: ["payload"] }] };
    },
    jsonSchema: { input: () => jsonSchema, output: () => jsonSchema },
  },
};

/**
 * The system prompt as it is, and the payload as a user message of its own.
 * @throws {DefinitionError} for a malformed name, a blank system prompt, or an output that is no schema.
 */
export function promptOf<OS extends Schema>(
  name: string,
  systemPrompt: string,
  output: OS,
): PromptTemplate<Payload, OutputOf<OS>> {
  if (typeof systemPrompt !== "string" || systemPrompt.trim() === "") {
    throw new DefinitionError("definePrimitive needs a systemPrompt: a text with something in it.");
  }
  if (output === undefined) {
    throw new DefinitionError(
      "definePrimitive needs an output: a schema, for example z.object({ label: z.string() }).",
    );
  }
  const text: string = systemPrompt.replaceAll("{{", String.raw`\{{`);
  const template = definePrompt({
    key: name,
    name,
    params: payloadSchema,
    output: output as Schema<unknown, OutputOf<OS>>,
    sections: [
      { key: "system", text },
      { key: "payload", role: "user", text: "{{payload}}" },
    ],
  });
  return template;
}
