import { DefinitionError } from "../errors.ts";
import { plainSchema } from "./plain-schema.ts";
import { definePrompt, type Prompt, type PromptTemplate } from "./template.ts";

const params = plainSchema<{ readonly text: string }>(
  {
    type: "object",
    properties: { text: { type: "string" } },
    required: ["text"],
    additionalProperties: false,
  },
  ({ text }) => (typeof text === "string" ? [] : [{ path: "text", message: "must be a text" }]),
);

/** Made when it is first needed: what is imported has no effects. */
let template: PromptTemplate<unknown, string> | undefined;

/**
 * A text as a prompt: one user section that holds it as it is, named `app/text`. It is what `evaluate("…")` evaluates.
 * @throws {DefinitionError} for a blank text: some providers refuse a message without one.
 */
export function textPrompt(text: string): Prompt<string> {
  if (text.trim() === "") {
    throw new DefinitionError("The text to evaluate is empty: give the text of a message, or a bound prompt.");
  }
  template ??= definePrompt({ key: "text", params, text: "{{text}}" });
  return template.bind({ text });
}
