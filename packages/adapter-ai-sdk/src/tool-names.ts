// The names of tools that a package would confuse with something of its own.
import type { LanguageModel } from "./options.ts";
import { isOpenAIFamily, kindOf } from "./settings.ts";

/** The name under which a tool is offered: a package's own tool for a structured output is called "json". */
export function sentName(model: LanguageModel, name: string): string {
  return /^json_*$/.test(name) && hasOwnJson(model) ? `${name}_` : name;
}

/** The tool's own name, of the one under which it was offered. */
export function ownName(model: LanguageModel, name: string): string {
  return /^json_+$/.test(name) && hasOwnJson(model) ? name.slice(0, -1) : name;
}

/** The name of a call that goes back. */
export function replayedName(model: LanguageModel, name: string): string {
  return looksNamesUp(model) && name in Object.prototype ? `${name}_` : sentName(model, name);
}

/** Google's package has such a tool too, and finds a free name for it. */
function hasOwnJson(model: LanguageModel): boolean {
  const kind = kindOf(model);
  return kind === "anthropic" || kind === "bedrock" || (kind === "gateway" && model.modelId.includes("claude"));
}

/** `@ai-sdk/openai` and `@ai-sdk/anthropic` look names up in a plain object: "constructor" would go out as a function. */
function looksNamesUp(model: LanguageModel): boolean {
  return isOpenAIFamily(model) || /\banthropic\b/.test(model.provider);
}
