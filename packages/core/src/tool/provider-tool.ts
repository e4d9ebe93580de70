import { DefinitionError } from "../errors.ts";
import { describeValue, isRecord } from "../values.ts";
import { frozenJson, toJsonValue, whyNoJson } from "../json.ts";
import { checkOptionNames } from "../option-names.ts";

/** A tool that the provider runs. Its calls are `provider.tool` events; nothing here executes it, undoes it or asks a policy. */
export interface ProviderTool {
  /** `^[a-zA-Z0-9_-]{1,64}$`, unique among all tools of the prompt. */
  readonly name: string;
  /** The provider and its tool: `openai.web_search`, `anthropic.web_search_20250305`. */
  readonly id: `${string}.${string}`;
  /** What the provider receives with it, in the provider's own form; plain JSON. */
  readonly args: Readonly<Record<string, unknown>>;
}

const namePattern = /^[a-zA-Z0-9_-]{1,64}$/;
const idPattern = /^[a-z0-9_-]+(\.[a-zA-Z0-9_-]+)+$/;

/**
 * Declares a tool that the provider runs, for `providerTools` of a section.
 * @throws {DefinitionError} for a malformed name or id, or arguments that are not plain JSON.
 * @example
 * ```ts
 * import { defineProviderTool } from "@proviso/core";
 *
 * const search = defineProviderTool({ name: "search", id: "openai.web_search" });
 * console.log(search.id); // openai.web_search
 * ```
 */
export function defineProviderTool(tool: {
  readonly name: string;
  readonly id: `${string}.${string}`;
  readonly args?: Readonly<Record<string, unknown>> | undefined;
}): ProviderTool {
  if (!isRecord(tool)) throw new DefinitionError(`A provider tool must be an object, not ${describeValue(tool)}.`);
  checkOptionNames("A provider tool", tool, { name: true, id: true, args: true });
  const { name, id, args = {} } = tool;
  if (typeof name !== "string" || !namePattern.test(name)) {
    throw new DefinitionError(`The provider tool's name ${describeValue(name)} must match ${namePattern.source}.`);
  }
  if (typeof id !== "string" || !idPattern.test(id)) {
    throw new DefinitionError(
      `The provider tool "${name}" needs an id such as "openai.web_search", not ${describeValue(id)}.`,
    );
  }
  if (!isRecord(args)) throw new DefinitionError(`The args of the provider tool "${name}" must be an object.`);
  const why = whyNoJson(args);
  if (why !== undefined)
    throw new DefinitionError(`The args of the provider tool "${name}" must be plain JSON: ${why}`);
  return Object.freeze({ name, id, args: frozenJson(toJsonValue(args)?.value) as ProviderTool["args"] });
}
