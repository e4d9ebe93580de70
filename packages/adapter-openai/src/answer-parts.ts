// What the service returns beside the text of an answer: thoughts, sources, and the tools that it ran itself.
import type { GeneratedFile, ModelRequest, ProviderCall, Source, ModelResponse, ReportedUsage } from "@proviso/core";
import { isRecord, parseJson } from "@proviso/core/provider";
import { costInUsage, countAt, listAt, logprobsFrom, objectAt, textAt, type Json } from "@proviso/adapter-kit";

/** What stands between two parts of a summary, streamed or not. */
export const betweenThoughts = "\n\n";

/** The summaries of an answer's reasoning items, or their whole texts where a server gives these alone. */
export function thoughtsIn(items: readonly Json[]): string {
  return items
    .filter(({ type }) => type === "reasoning")
    .flatMap((item) => {
      const summary = listAt(item, "summary");
      return summary.length > 0 ? summary : listAt(item, "content");
    })
    .map((part) => textAt(part, "text"))
    .filter((text) => text !== "")
    .join(betweenThoughts);
}

/** A message's parts are one text; several messages are lines apart. Each annotation is placed in the whole of it. */
export function textAndSources(items: readonly Json[]): {
  readonly text: string;
  readonly sources: readonly Source[];
  /** The pictures that the service made, where they stand in the text. */
  readonly pictures: readonly GeneratedFile[];
} {
  const sources: Source[] = [];
  const pictures: GeneratedFile[] = [];
  let text = "";
  for (const item of items) {
    const picture = pictureIn(item, text.length);
    if (picture !== undefined) pictures.push(picture);
    if (item["type"] !== "message") continue;
    let separator = text === "" ? "" : "\n";
    for (const part of listAt(item, "content").filter(({ type }) => type === "output_text")) {
      const piece = textAt(part, "text");
      if (piece !== "") text += separator;
      if (piece !== "") separator = "";
      const from = text.length;
      for (const annotation of listAt(part, "annotations"))
        for (const source of sourceOf(annotation, from)) sources.push(source);
      text += piece;
    }
  }
  return { text, sources, pictures };
}

/** The sources of an answer of Chat Completions. */
export function chatSources(message: Json): readonly Source[] {
  return listAt(message, "annotations").flatMap((annotation) => {
    const { type } = annotation;
    return typeof type === "string" ? sourceOf({ type, ...objectAt(annotation, type) }, 0) : [];
  });
}

function sourceOf(annotation: Json, from: number): readonly Source[] {
  const title = textAt(annotation, "title") || undefined;
  const fileName = textAt(annotation, "filename") || undefined;
  const { start_index: start, end_index: end } = annotation;
  const at =
    typeof start === "number" && typeof end === "number" ? { at: { start: from + start, end: from + end } } : {};
  switch (annotation["type"]) {
    case "url_citation":
      return [{ kind: "url", url: textAt(annotation, "url"), title, ...at }];
    case "file_citation":
    case "container_file_citation":
      return [{ kind: "document", title, fileName, ...at }];
    default:
      return [];
  }
}

/** The items of tools that the service runs, without those that wait for an answer of ours. */
const ranByService = /^(web_search|file_search|code_interpreter|image_generation|mcp)_call$/;

export function isProviderCall({ type }: Json): boolean {
  return typeof type === "string" && ranByService.test(type);
}

/** The calls that the service ran, each under the name that the prompt gave its tool. */
export function providerCallsIn(
  items: readonly Json[],
  tools: ModelRequest["providerTools"] = [],
): readonly ProviderCall[] {
  return items.filter(isProviderCall).map((item) => {
    const kind = textAt(item, "type").replace(/_call$/, "");
    const declared = tools.find(({ id }) => id === `openai.${kind}`);
    const error = item["error"] ?? undefined;
    return {
      callId: textAt(item, "id"),
      name: declared?.name ?? (textAt(item, "name") || kind),
      ...inputAndOutput(kind, item),
      ...(error === undefined ? {} : { output: error }),
      isError: error !== undefined || item["status"] === "failed" || item["status"] === "incomplete",
    };
  });
}

function pictureIn(item: Json, at: number): GeneratedFile | undefined {
  const data = item["type"] === "image_generation_call" ? textAt(item, "result") : "";
  return data === "" ? undefined : { at, mediaType: `image/${textAt(item, "output_format") || "png"}`, data };
}

/** An item as it is kept: a picture goes back by the id under which the service has stored it, never with its bytes. */
export function withoutPicture(item: Json): Json {
  return item["type"] === "image_generation_call" ? { type: item["type"], id: item["id"] } : item;
}

function inputAndOutput(kind: string, item: Json): Pick<ProviderCall, "input" | "output"> {
  switch (kind) {
    case "web_search":
      return { input: item["action"] ?? null };
    case "file_search":
      return { input: { queries: item["queries"] ?? [] }, ...outputOf(item["results"]) };
    case "code_interpreter":
      return { input: { code: item["code"] ?? null }, ...outputOf(item["outputs"]) };
    case "mcp": {
      const given = parseJson(textAt(item, "arguments"));
      return { input: given.ok ? given.value : item["arguments"], ...outputOf(item["output"]) };
    }
    default:
      // The picture itself is no part of an event.
      return { input: { prompt: item["revised_prompt"] ?? null } };
  }
}

function outputOf(output: unknown): Pick<ProviderCall, "output"> {
  return output === undefined || output === null ? {} : { output };
}

/** What an answer has beside its text; nothing where it has none of it. */
export function beside(
  sources: readonly Source[],
  providerCalls: readonly ProviderCall[] = [],
): { readonly sources?: readonly Source[]; readonly providerCalls?: readonly ProviderCall[] } {
  return {
    ...(sources.length === 0 ? {} : { sources }),
    ...(providerCalls.length === 0 ? {} : { providerCalls }),
  };
}

/** A provider tool as the Responses API takes it. */
export function providerToolOf({ id, args }: { readonly id: string; readonly args: Json }): Json {
  return { type: id.slice(id.indexOf(".") + 1), ...(isRecord(args) ? args : {}) };
}

/** Arguments as they came: some compatible servers send an object. */
export function argumentsAt(object: Json, key: string): string {
  const value = object[key];
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/** The tier and the log probabilities of an answer: only what there is. */
export function servedBy(body: Json, tokens: readonly Json[]): Pick<ModelResponse, "serviceTier" | "logprobs"> {
  const serviceTier = textAt(body, "service_tier");
  const logprobs = logprobsFrom(tokens);
  return {
    ...(serviceTier === "" ? {} : { serviceTier }),
    ...(logprobs === undefined ? {} : { logprobs }),
  };
}

/** Usage in the names of one API. */
export function usageFrom(
  usage: unknown,
  names: { readonly input: string; readonly output: string },
  costUsd: number | undefined,
): ReportedUsage {
  const ofInput = objectAt(usage, `${names.input}_details`);
  return {
    inputTokens: countAt(usage, names.input),
    outputTokens: countAt(usage, names.output),
    totalTokens: countAt(usage, "total_tokens"),
    cachedInputTokens: countAt(ofInput, "cached_tokens"),
    cacheWriteTokens: countAt(ofInput, "cache_write_tokens"),
    reasoningTokens: countAt(objectAt(usage, `${names.output}_details`), "reasoning_tokens"),
    costUsd: costUsd ?? costInUsage(usage),
  };
}
