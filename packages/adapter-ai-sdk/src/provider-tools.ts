// Tools that a provider of the ecosystem runs: as they are declared, and what an answer says of their calls.
import type { LanguageModelV4Content, LanguageModelV4ProviderTool } from "@ai-sdk/provider";
import {
  DefinitionError,
  defineProviderTool,
  type GeneratedFile,
  type ModelRequest,
  type ProviderCall,
  type ProviderTool,
} from "@proviso/core";
import { isRecord, parseJson } from "@proviso/core/provider";
import { describeValue } from "@proviso/core/internal";
import type { LanguageModel } from "./options.ts";
import { kindOf } from "./settings.ts";

/**
 * Makes a provider tool of one that a package of the ecosystem declares, for `providerTools` of a section. `name` is what
 * events call it; default: the tool's own name at its provider, `web_search_20250305` for example.
 * @throws {DefinitionError} for what is no such tool, and for one that the program itself has to run.
 * @example
 * ```ts
 * import { openai } from "@ai-sdk/openai";
 * import { aiSdkTool } from "@proviso/adapter-ai-sdk";
 *
 * const search = aiSdkTool(openai.tools.webSearch({ searchContextSize: "low" }), "search");
 * console.log(search.id); // openai.web_search
 * ```
 */
export function aiSdkTool(tool: unknown, name?: string): ProviderTool {
  // `ai` 5 has its own word for them.
  const isOne = isRecord(tool) && (tool["type"] === "provider" || tool["type"] === "provider-defined");
  if (!isOne || typeof tool["id"] !== "string") {
    throw new DefinitionError(
      `aiSdkTool needs a tool of a provider's package, anthropic.tools.webSearch_20250305() for example, not ${describeValue(tool)}.`,
    );
  }
  const { id, args } = tool;
  if (tool["isProviderExecuted"] === false) {
    throw new DefinitionError(
      `The tool "${id}" is run by the program, not by the provider: define one that does it with defineTool.`,
    );
  }
  const own = typeof tool["name"] === "string" ? tool["name"] : id.slice(id.indexOf(".") + 1);
  return defineProviderTool({
    name: name ?? own,
    id: id as ProviderTool["id"],
    args: isRecord(args) ? args : {},
  });
}

/** The ids of the tools that a model's provider runs, as patterns; undefined: none. */
export function providerToolsOf(model: LanguageModel | string): readonly string[] | undefined {
  return patterns[kindOf(model)];
}

const patterns: { readonly [Kind in ReturnType<typeof kindOf>]?: readonly string[] } = {
  responses: Object.freeze(["openai.*"]),
  anthropic: Object.freeze(["anthropic.*"]),
  google: Object.freeze(["google.*"]),
  // The gateway asks providers of many names.
  gateway: Object.freeze(["*"]),
};

/** A provider tool as the interface of the model has it. */
export function providerTool(model: LanguageModel, { id, name, args }: ProviderTool): LanguageModelV4ProviderTool {
  const type = (model.specificationVersion as string) === "v2" ? "provider-defined" : "provider";
  return { type: type as "provider", id, name, args };
}

/** What an answer says of the calls that the provider ran, in their order. */
export function providerCallsIn(
  content: readonly LanguageModelV4Content[],
  tools: ModelRequest["providerTools"] = [],
): readonly ProviderCall[] {
  const results = new Map(
    content.flatMap((part) => (part.type === "tool-result" ? [[part.toolCallId, part] as const] : [])),
  );
  return content.flatMap((part): readonly ProviderCall[] => {
    if (part.type !== "tool-call" || part.providerExecuted !== true) return [];
    const { toolCallId: callId, toolName: name } = part;
    const input = parseJson(part.input);
    const ended = results.get(callId);
    const call = { callId, name, input: input.ok ? input.value : part.input };
    if (ended === undefined) return [{ ...call, isError: false }];
    const isError = ended.isError === true;
    // The picture itself is no part of an event.
    if (makesPictures(name, tools)) return [{ ...call, isError }];
    return [{ ...call, output: ended.result, isError }];
  });
}

/** The picture in the result of a call; undefined where there is none. */
export function pictureIn(
  part: LanguageModelV4Content,
  tools: ModelRequest["providerTools"] = [],
): Pick<GeneratedFile, "mediaType" | "data"> | undefined {
  if (part.type !== "tool-result" || !makesPictures(part.toolName, tools)) return undefined;
  const result: unknown = part.result;
  const data = isRecord(result) ? result["result"] : undefined;
  return typeof data === "string" && data !== "" ? { mediaType: "image/png", data } : undefined;
}

/** Whether a tool answers with a picture, in base64, under the name that the prompt or the package gave it. */
export function makesPictures(name: string, tools: ModelRequest["providerTools"] = []): boolean {
  return (tools.find((tool) => tool.name === name)?.id ?? name).endsWith("image_generation");
}
