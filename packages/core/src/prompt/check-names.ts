import { DefinitionError } from "../errors.ts";
import { checkOptionNames, type OptionNames } from "../option-names.ts";
import type { Schema } from "../schema.ts";
import { describeValue, isRecord } from "../values.ts";
import { checkKey, keyPattern } from "./section.ts";
import type { PromptDefinition } from "./template.ts";

const promptNames = {
  ns: true,
  key: true,
  name: true,
  params: true,
  output: true,
  outputInstructions: true,
  sections: true,
  text: true,
  policies: true,
  feedback: true,
  completion: true,
  resources: true,
  slices: true,
  examples: true,
} as const satisfies OptionNames<PromptDefinition<Schema, undefined, []>>;

/** @throws {DefinitionError} for what is no definition, for a malformed `ns` or `key`, and for an option that there is not. */
export function checkNames(definition: unknown): void {
  if (!isRecord(definition)) {
    throw new DefinitionError(`definePrompt takes one object, { key, text }, not ${describeValue(definition)}.`);
  }
  const { ns = "app", key } = definition;
  checkKey("The prompt's ns", ns, { dots: true });
  if (key === undefined) {
    // Other frameworks call it otherwise.
    checkOptionNames("definePrompt", definition, promptNames);
    throw new DefinitionError(
      `The prompt key undefined must match ${keyPattern.source}. A prompt needs a key: its name is what events and errors call it.`,
    );
  }
  checkKey("The prompt key", key, { dots: true });
  checkOptionNames(`The prompt "${ns as string}/${key as string}"`, definition, promptNames);
}
