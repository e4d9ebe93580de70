import { DefinitionError, defineProviderTool, type ProviderTool } from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";

/** Leaves out what was not set. */
function toolOf(name: string, args: Readonly<Record<string, unknown>>): ProviderTool {
  const set = Object.entries(args).filter(([, value]) => value !== undefined);
  return defineProviderTool({ name, id: `openai.${name}`, args: Object.fromEntries(set) });
}

/** The tools that OpenAI runs itself, for `providerTools` of a section; with api "responses" alone. */
export interface OpenAITools {
  /** Searches the web. `domains`: searched alone; default: all. `contextSize`: how much of the pages is read. */
  webSearch(options?: {
    readonly domains?: readonly string[];
    readonly contextSize?: "low" | "medium" | "high";
  }): ProviderTool;
  /** Runs Python in a container. `container`: the id of one that exists; default: a new one. */
  codeInterpreter(options?: { readonly container?: string }): ProviderTool;
  /** Searches vector stores. `maxResults`: results at most. @throws {DefinitionError} without a store. */
  fileSearch(options: { readonly vectorStores: readonly string[]; readonly maxResults?: number }): ProviderTool;
  /** Makes pictures. */
  imageGeneration(options?: { readonly quality?: "low" | "medium" | "high" }): ProviderTool;
}

/**
 * The tools that OpenAI runs itself, as its Responses API takes them.
 * @example
 * ```ts
 * import { openaiTools } from "@proviso/adapter-openai";
 *
 * console.log(openaiTools.webSearch({ domains: ["nodejs.org"] }).id); // openai.web_search
 * ```
 */
export const openaiTools: OpenAITools = Object.freeze({
  webSearch(options = {}) {
    checkOptionNames("openaiTools.webSearch", options, { domains: true, contextSize: true });
    const { domains, contextSize } = options;
    const filters = domains === undefined ? undefined : { allowed_domains: [...domains] };
    return toolOf("web_search", { filters, search_context_size: contextSize });
  },
  codeInterpreter(options = {}) {
    checkOptionNames("openaiTools.codeInterpreter", options, { container: true });
    return toolOf("code_interpreter", { container: options.container ?? { type: "auto" } });
  },
  fileSearch(options) {
    checkOptionNames("openaiTools.fileSearch", options, { vectorStores: true, maxResults: true });
    const { vectorStores, maxResults } = options;
    if (!Array.isArray(vectorStores) || vectorStores.length === 0) {
      throw new DefinitionError("openaiTools.fileSearch needs at least one vector store: { vectorStores: [id] }.");
    }
    return toolOf("file_search", { vector_store_ids: [...(vectorStores as string[])], max_num_results: maxResults });
  },
  imageGeneration(options = {}) {
    checkOptionNames("openaiTools.imageGeneration", options, { quality: true });
    return toolOf("image_generation", { quality: options.quality });
  },
} satisfies OpenAITools);
