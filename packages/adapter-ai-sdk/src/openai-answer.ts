import { isRecord } from "@proviso/core/provider";
import type { LanguageModelV4Content, LanguageModelV4FinishReason, LanguageModelV4Usage } from "@ai-sdk/provider";
import { listAt, objectAt, textAt, type Json } from "@proviso/adapter-kit";
import type { Answer } from "./parts.ts";

type Read = Required<Pick<Answer, "content" | "finishReason" | "usage">>;

/**
 * The answer in a body of OpenAI's APIs, for one that an SDK refused over a detail: a usage in text, an item it does
 * not know, a call without its id. undefined where there is no answer in it.
 */
export function openaiAnswer(body: unknown): Read | undefined {
  if (!isRecord(body)) return undefined;
  return fromResponse(body) ?? fromCompletion(body);
}

function fromResponse(body: Json): Read | undefined {
  if (body["object"] !== "response" || isRecord(body["error"]) || !Array.isArray(body["output"])) return undefined;
  const items = body["output"].filter(isRecord);
  const content = items.flatMap(contentOf);
  const refused = items.some((item) => listAt(item, "content").some(({ type }) => type === "refusal"));
  const cut = textAt(body["incomplete_details"], "reason") || undefined;
  return {
    content,
    finishReason: refused ? { unified: "content-filter", raw: undefined } : reasonOf(cut ?? "stop"),
    usage: usageOf(body["usage"], "input", "output"),
  };
}

/** Makes the parts that `@ai-sdk/openai` makes of an item, so that they are replayed alike. */
function contentOf(item: Json): readonly LanguageModelV4Content[] {
  const itemId = textAt(item, "id");
  const { encrypted_content: reasoningEncryptedContent = null } = item as { encrypted_content?: string | null };
  switch (item["type"]) {
    case "message":
      return listAt(item, "content").flatMap((part): LanguageModelV4Content[] => {
        const text = part["type"] === "refusal" ? textAt(part, "refusal") : textAt(part, "text");
        return text === "" ? [] : [{ type: "text", text, providerMetadata: { openai: { itemId } } }];
      });
    case "reasoning": {
      const providerMetadata = { openai: { itemId, reasoningEncryptedContent } };
      const summaries = listAt(item, "summary").map((part) => textAt(part, "text"));
      const texts = summaries.length === 0 ? [""] : summaries;
      return texts.map((text) => ({ type: "reasoning", text, providerMetadata }));
    }
    case "function_call":
      return [{ ...callOf(textAt(item, "call_id"), item), providerMetadata: { openai: { itemId } } }];
    default:
      return [];
  }
}

function fromCompletion(body: Json): Read | undefined {
  const [choice] = listAt(body, "choices");
  const message = choice?.["message"];
  if (isRecord(body["error"]) || choice === undefined || !isRecord(message)) return undefined;
  const { content } = message;
  const given =
    typeof content === "string"
      ? content
      : listAt(message, "content")
          .map((part) => textAt(part, "text"))
          .join("");
  const refusal = textAt(message, "refusal");
  const text = given + refusal;
  const calls = listAt(message, "tool_calls").map((call) => callOf(textAt(call, "id"), objectAt(call, "function")));
  return {
    content: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...calls],
    finishReason:
      refusal === "" ? reasonOf(textAt(choice, "finish_reason")) : { unified: "content-filter", raw: undefined },
    usage: usageOf(body["usage"], "prompt", "completion"),
  };
}

function callOf(toolCallId: string, given: Json): Extract<LanguageModelV4Content, { type: "tool-call" }> {
  const input = given["arguments"] as string;
  return { type: "tool-call", toolCallId, toolName: textAt(given, "name"), input: input ?? "" };
}

const reasons: ReadonlyMap<string, LanguageModelV4FinishReason["unified"]> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["max_output_tokens", "length"],
  ["content_filter", "content-filter"],
  ["tool_calls", "tool-calls"],
]);

/** The ecosystem's word for a reason of either API. */
export function reasonOf(raw: string): LanguageModelV4FinishReason {
  return { unified: reasons.get(raw) ?? "other", raw: raw === "" ? undefined : raw };
}

/** Counts as they came: what cannot be counted is left to the runtime's estimate. */
function usageOf(given: unknown, input: string, output: string): LanguageModelV4Usage {
  const usage = isRecord(given) ? given : {};
  const at = (key: string, of: Json = usage): number | undefined => (of[key] ?? undefined) as number | undefined;
  const details = (name: string): Json => objectAt(usage, `${name}_tokens_details`);
  return {
    inputTokens: {
      total: at(`${input}_tokens`),
      noCache: undefined,
      cacheRead: at("cached_tokens", details(input)),
      cacheWrite: at("cache_write_tokens", details(input)),
    },
    outputTokens: {
      total: at(`${output}_tokens`),
      text: undefined,
      reasoning: at("reasoning_tokens", details(output)),
    },
    raw: usage as NonNullable<LanguageModelV4Usage["raw"]>,
  };
}
