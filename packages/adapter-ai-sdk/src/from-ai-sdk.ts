import type { LanguageModelV4Content, LanguageModelV4ToolCall } from "@ai-sdk/provider";
import type { GeneratedFile, ModelFailure, ModelRequest, ModelResponse, ReportedUsage, ToolCall } from "@proviso/core";
import { isRecord, parseJson, type FinishReason } from "@proviso/core/provider";
import { errorObjectFailure, isErrorObject, listAt, parsedOutput, rateLimitFrom, textAt } from "@proviso/adapter-kit";
import type { Answer, AssistantPart, KeptParts } from "./parts.ts";
import type { LanguageModel } from "./options.ts";
import type { Call } from "./to-ai-sdk.ts";
import { makesPictures, pictureIn, providerCallsIn } from "./provider-tools.ts";
import { servedBy } from "./served-by.ts";
import { sourcesIn, thoughtsIn } from "./answer-parts.ts";
import { ownName } from "./tool-names.ts";
import { usageFrom } from "./usage.ts";

/** An answer, however it came. Parts that are not known are passed over. */
export function fromAiSdk(
  call: Call,
  { output, providerTools }: Pick<ModelRequest, "output" | "providerTools">,
  answer: Answer,
): ModelResponse | ModelFailure {
  const { content, response } = answer;
  const usage = usageFrom(answer);
  const payload = response?.body ?? withoutParts(answer);
  const broken = whyUnfinished(response?.body) ?? whyBroken(answer);
  if (broken !== undefined) return { ...broken, payload, ...(isReported(usage) ? { usage } : {}) };

  const toolCalls = content
    .filter((part) => part.type === "tool-call" && part.providerExecuted !== true)
    .map((part) => callOf(call.model, part));
  const text = textOf(content);
  const refusal = refusalIn(answer, text);
  const kept = keptParts(call.model.provider, content, providerTools);
  const providerCalls = providerCallsIn(content, providerTools);
  return {
    message: { role: "assistant", text: refusal === undefined ? text : "", toolCalls, ...thoughtsIn(content), ...kept },
    ...sourcesIn(content),
    ...(providerCalls.length === 0 ? {} : { providerCalls }),
    ...filesIn(content, providerTools),
    finishReason: refusal === undefined ? finishReason(answer, toolCalls.length > 0) : "stop",
    usage,
    model: response?.modelId,
    ...servedBy(answer),
    ...(call.textOnly || toolCalls.length > 0 ? {} : parsedOutput(output, answer.structuredOutputText ?? text)),
    refusal,
    payload,
    ...rateLimitOf(answer),
  };
}

function rateLimitOf({ response }: Answer): Pick<ModelResponse, "rateLimit"> {
  const headers = response?.headers;
  const rateLimit = headers && rateLimitFrom({ get: (name) => headers[name] ?? null });
  return rateLimit === undefined ? {} : { rateLimit };
}

function isReported(usage: ReportedUsage): boolean {
  return Object.values(usage).some((count) => count !== undefined);
}

function withoutParts({ content, finishReason, usage, providerMetadata }: Answer): unknown {
  return { content, finishReason, usage, providerMetadata };
}

/** Texts of one item are one text, several items are lines apart. `beside` gets each other part, with its place in the text. */
export function textOf(
  content: readonly LanguageModelV4Content[],
  beside: (part: LanguageModelV4Content, at: number) => void = () => {},
): string {
  let text = "";
  let last: string | undefined;
  for (const part of content) {
    if (part.type !== "text") beside(part, text.length);
    if (part.type !== "text" || part.text === "") continue;
    const item = itemOf(part);
    text += separator(last, item) + part.text;
    last = item;
  }
  return text;
}

/** The files that the model made, where they stand in the text; only what there is. A file that is an address is none. */
function filesIn(
  content: readonly LanguageModelV4Content[],
  tools: ModelRequest["providerTools"],
): Pick<ModelResponse, "generated"> {
  const generated: GeneratedFile[] = [];
  textOf(content, (part, at) => {
    const file = fileIn(part, tools);
    if (file !== undefined) generated.push({ at, ...file });
  });
  return generated.length === 0 ? {} : { generated };
}

/** What the model made, by itself or with a tool that the provider runs; undefined: the part holds no bytes. */
function fileIn(
  part: LanguageModelV4Content,
  tools: ModelRequest["providerTools"],
): Pick<GeneratedFile, "mediaType" | "data"> | undefined {
  const file = part.type === "file" ? { mediaType: part.mediaType, data: bytesIn(part.data) } : pictureIn(part, tools);
  const { mediaType, data } = file ?? {};
  return mediaType === undefined || data === undefined ? undefined : { mediaType, data };
}

/** Bytes or base64: a part of v4 has them behind a type, one of v2 and v3 has them itself. */
function bytesIn(data: unknown): Uint8Array | string | undefined {
  if (typeof data === "string" || data instanceof Uint8Array) return data;
  return isRecord(data) && data["type"] === "data" ? bytesIn(data["data"]) : undefined;
}

/** Returns the id of the service's own item that a part belongs to, where the part names one. */
export function itemOf({ providerMetadata }: { readonly providerMetadata?: object | undefined }): string | undefined {
  return Object.values(providerMetadata ?? {})
    .map((metadata: unknown) => textAt(metadata, "itemId"))
    .find((id) => id !== "");
}

export function separator(last: string | undefined, item: string | undefined): string {
  return last !== undefined && item !== undefined && last !== item ? "\n" : "";
}

function callOf(model: LanguageModel, part: LanguageModelV4Content): ToolCall {
  const { toolCallId, toolName, input } = part as { toolCallId?: unknown; toolName?: unknown; input?: unknown };
  return {
    id: typeof toolCallId === "string" ? toolCallId : "",
    name: typeof toolName === "string" ? ownName(model, toolName) : "",
    arguments: typeof input === "string" ? input : (JSON.stringify(input) ?? ""),
  };
}

/** Reasons that services give beside their own refusals; what a filter withheld has its own. */
const refusals = new Set<string | undefined>([undefined, "stop", "completed", "refusal"]);

/** Recognises a refusal: the ecosystem returns it as text, with a content filter's finish reason. */
function refusalIn({ finishReason }: Answer, text: string): string | undefined {
  if (!isRecord(finishReason) || finishReason["unified"] !== "content-filter") return undefined;
  // Anthropic calls it by its name, and often without a word of the model.
  if (text === "") return finishReason.raw === "refusal" ? "The model refused." : undefined;
  return refusals.has(finishReason.raw) ? text : undefined;
}

type Ending = Pick<Answer, "finishReason" | "response">;

/** V2 has its reason as one word. */
function unified({ finishReason: reason }: Ending): string | undefined {
  return typeof reason === "string" ? reason : reason?.unified;
}

/** The service's own word for the reason, which models of v2 have in the body alone. An empty one is none. */
function raw({ finishReason: reason, response }: Ending): string | undefined {
  if (typeof reason !== "string") return reason?.raw || undefined;
  const body = response?.body;
  return textAt(listAt(body, "choices")[0], "finish_reason") || textAt(body, "stop_reason") || undefined;
}

function finishReason(answer: Answer, hasCalls: boolean): FinishReason {
  const reason = unified(answer);
  if (reason === "length" || reason === "content-filter") return reason;
  // Cut short for a reason that is not known: the answer is not whole.
  if (statusOf(answer.response?.body) === "incomplete") return "length";
  if (hasCalls) return "tool-calls";
  if (isPaused(answer)) return "paused";
  return reason === "stop" || isSilent(answer) ? "stop" : "other";
}

/**
 * Anthropic pauses a turn in which it runs tools itself for long: it goes on when it gets the answer back as it is.
 * Source: Claude API reference, "Handling stop reasons".
 */
function isPaused(answer: Answer): boolean {
  return raw(answer) === "pause_turn";
}

/** Some compatible servers give no reason at all. */
export function isSilent(answer: Ending): boolean {
  const none = typeof answer.finishReason === "string" ? "unknown" : "other";
  return unified(answer) === none && raw(answer) === undefined;
}

/** A stream that ended without saying so, and a model that broke while it answered. */
function whyBroken(answer: Answer): ModelFailure | undefined {
  const reason = unified(answer);
  if (reason === undefined || reason === "interrupted") {
    const { "content-type": type = "", "content-length": length } = answer.response?.headers ?? {};
    if (answer.content.length > 0 || length === "0" || !otherTypes.test(type)) {
      return { failure: "throttle", kind: "unknown", message: "The stream ended before the answer did." };
    }
    const message = `The provider's answer is no stream, but ${type}.`;
    return { failure: "provider", reason: "invalid_response", message };
  }
  const [choice] = listAt(answer.response?.body, "choices");
  if (reason !== "error" && raw(answer) !== "error" && !isErrorObject(choice?.["error"])) return undefined;
  if (unreadableCalls.has(raw(answer))) {
    const message = "The provider could not read the call that its model made.";
    return { failure: "provider", reason: "invalid_response", message };
  }
  return errorObjectFailure(choice?.["error"]);
}

/** Gemini's reasons for a call that its model wrote wrongly. Source: Gemini API reference, "FinishReason". */
const unreadableCalls = new Set<string | undefined>(["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"]);

/** The media types of bodies that are not a stream of events. */
const otherTypes = /^(text\/html|text\/plain|application\/json)\b/i;

/** `@ai-sdk/openai` does not look at the status of a response: one in progress would pass as whole. */
function whyUnfinished(body: unknown): ModelFailure | undefined {
  if (!isRecord(body) || body["object"] !== "response") return undefined;
  const status = statusOf(body);
  if (status === "completed" || status === "incomplete") return undefined;
  const found = status === undefined ? "no status" : `the status "${status}"`;
  const message = `The provider's answer is not finished: it has ${found}.`;
  return { failure: "provider", reason: "invalid_response", message };
}

/** Returns the status of a body of OpenAI's Responses API. */
function statusOf(body: unknown): string | undefined {
  if (!isRecord(body) || body["object"] !== "response") return undefined;
  return textAt(body, "status") || undefined;
}

/** Kept where text and calls do not say it all: reasoning, and whatever the provider wants back. */
function keptParts(
  provider: string,
  content: readonly LanguageModelV4Content[],
  tools: ModelRequest["providerTools"],
): { providerItems?: KeptParts } {
  let files = 0;
  const hasCalls = content.some((part) => part.type === "tool-call" && part.providerExecuted !== true);
  const parts = content.flatMap((part): KeptParts["parts"] => {
    if (part.type === "reasoning" && !goesBack(part, { provider, hasCalls })) return [];
    const index = files;
    files += fileIn(part, tools) === undefined ? 0 : 1;
    if (part.type !== "file") return keptPart(part, tools);
    return index === files ? [] : [{ type: "made-file", index, ...optionsOf(part) }];
  });
  const plain = parts.every(
    (part) => (part.type === "text" || part.type === "tool-call") && part.providerOptions === undefined,
  );
  return plain ? {} : { providerItems: { api: "ai-sdk", provider, parts } };
}

/**
 * Whether a thought goes back to its provider: one that is sealed does, and each part of Gemini, whose seal may stand on the
 * next one. Of other services those that are followed by calls: some refuse the calls without. Source: DeepSeek's API docs,
 * "Thinking Mode".
 */
function goesBack(
  { providerMetadata }: Extract<LanguageModelV4Content, { type: "reasoning" }>,
  { provider, hasCalls }: { readonly provider: string; readonly hasCalls: boolean },
): boolean {
  return providerMetadata !== undefined || hasCalls || provider.startsWith("google");
}

/** The metadata of a part are its options where it goes back in a prompt. */
function optionsOf(part: LanguageModelV4Content): Pick<AssistantPart, "providerOptions"> {
  return "providerMetadata" in part && part.providerMetadata ? { providerOptions: part.providerMetadata } : {};
}

/** Converts a part into what goes back in a prompt. Sources are not sent back. */
function keptPart(part: LanguageModelV4Content, tools: ModelRequest["providerTools"]): readonly AssistantPart[] {
  const options = optionsOf(part);
  if (part.type === "text" || part.type === "reasoning") return [{ type: part.type, text: part.text, ...options }];
  if (part.type === "custom") return [{ type: "custom", kind: part.kind, ...options }];
  if (part.type === "tool-call") return [{ ...keptCall(part), ...options }];
  if (part.type !== "tool-result") return [];
  const { toolCallId, toolName, result } = part;
  // A picture goes back by the id under which the service has stored it, never with its bytes.
  const value = makesPictures(toolName, tools) ? {} : result;
  return [{ type: "tool-result", toolCallId, toolName, output: { type: "json", value }, ...options }];
}

/** Arguments of calls that are ours to run stand in the message. */
function keptCall(part: LanguageModelV4ToolCall): Extract<AssistantPart, { type: "tool-call" }> {
  const { toolCallId, toolName, providerExecuted } = part;
  if (providerExecuted !== true) return { type: "tool-call", toolCallId, toolName, input: {} };
  const json = parseJson(part.input);
  return { type: "tool-call", toolCallId, toolName, input: json.ok ? json.value : {}, providerExecuted };
}
