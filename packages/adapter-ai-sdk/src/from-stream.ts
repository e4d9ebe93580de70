import type { LanguageModelV4Content, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { isRecord, type ModelDelta } from "@proviso/core/provider";
import type { RequestGuard } from "@proviso/adapter-kit";
import { isPart } from "./checked-answer.ts";
import { isSilent, itemOf, separator, textOf } from "./from-ai-sdk.ts";
import { openaiAnswer, reasonOf } from "./openai-answer.ts";
import { openaiEvents, type Counts, type OpenAIEvents } from "./openai-events.ts";
import { betweenThoughts } from "./answer-parts.ts";
import type { Answer } from "./parts.ts";

/** The error that a stream carried instead of an answer. */
export interface StreamFault {
  readonly error: unknown;
}

type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;
type ToolCall = Extract<LanguageModelV4Content, { type: "tool-call" }>;
type Block = Extract<LanguageModelV4Content, { type: "text" | "reasoning" }>;

/**
 * Reads a stream to its finish, and no further; the deltas add up to the answer's text. A stream that ends without one
 * gives an answer without a finish reason.
 */
export async function fromStream(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  onDelta: (delta: ModelDelta) => void,
  guard: RequestGuard,
): Promise<Answer | StreamFault> {
  const events = openaiEvents();
  let counts: Counts = "all";
  let refused: unknown;
  const gathering = gather((delta) => {
    if (counts !== "silent") onDelta(delta);
  });
  /** The answer of a stream that has not come to the SDK's own finish. */
  const endedAnswer = (): Answer => {
    const [answer, whole] = [gathering.answer(), openaiAnswer(events.body())];
    const content = [...answer.content, ...gathering.begunCalls()];
    const { finishReason = reasonOf(events.reason() ?? ""), usage } = whole ?? {};
    return { ...answer, content, finishReason, usage };
  };
  const reader = stream.getReader();
  const leave = (): void => void reader.cancel().catch(() => {});
  // The guard aborts when it is disposed, too: the rest of the stream, or a pending read, is given up then, also where the
  // model does not look at the signal.
  guard.signal.addEventListener("abort", leave, { once: true });
  for (;;) {
    const read = await reader.read().catch((error: unknown) => ({ error }));
    const failed = "error" in read || guard.signal.aborted;
    // The usage is all that comes behind the end of an answer, and is estimated then.
    if (failed && events.hasEnded()) return settled(endedAnswer(), events, refused);
    guard.signal.throwIfAborted();
    if ("error" in read) throw read.error;
    const { done, value } = read;
    if (done) return settled(gathering.answer(), events, refused);
    guard.received();
    if (!isPart(value)) continue;
    if (value.type === "raw") counts = events.read(value.rawValue);
    else if (value.type === "finish") return settled(gathering.answer(finishOf(value, events)), events, refused);
    else if (counts === "nothing" || (counts === "no text" && value.type.endsWith("-delta"))) continue;
    else if (value.type !== "error") gathering.take(value);
    else if (isEarlyEnd(value.error)) return settled(gathering.answer(), events, refused);
    else if (isRefused(value.error)) refused ??= value.error;
    else return { error: value.error };
  }
}

/**
 * Returns the answer, as far as there is one. An event that the SDK refused is no loss where the last event has the
 * whole answer, or where the refused event had no part of it. An answer that is pieced together from items counts only
 * where nothing was refused, and where it has no less than the SDK's parts.
 */
function settled(given: Answer, events: OpenAIEvents, refused: unknown): Answer | StreamFault {
  const answer = { ...given, serviceTier: events.tier() };
  const body = events.body();
  const response = { ...answer.response, body };
  const whole = openaiAnswer(body);
  const { content = [] } = whole ?? {};
  const isLoss = events.isPieced() && (refused !== undefined || hasLess(content, answer.content));
  if (content.length > 0 && !isLoss) {
    const differs =
      refused !== undefined || lacksCalls(answer.content, content) || textOf(answer.content) !== textOf(content);
    return { ...answer, ...(differs ? whole : {}), response };
  }
  const reason = events.reason();
  if (refused !== undefined) {
    // The SDK takes the answer for broken after a refused event.
    const isBroken = isRecord(answer.finishReason) && answer.finishReason.unified === "error";
    if (saysSomething(refused) || (isBroken && reason === undefined)) return { error: refused };
    return isBroken && reason !== undefined ? { ...answer, finishReason: reasonOf(reason) } : answer;
  }
  // No choice at all, to the end: an answer without a message.
  return { ...answer, ...(events.hasUsageAlone() ? { finishReason: reasonOf("stop") } : {}), response };
}

/** Whether an answer that is made of items has a shorter text than the parts, or not all of their calls. */
function hasLess(pieced: Answer["content"], parts: Answer["content"]): boolean {
  return lacksCalls(pieced, parts) || textOf(pieced).length < textOf(parts).length;
}

/** Whether not all the calls of the other content are in this one; what the provider runs itself is none of them. */
function lacksCalls(content: Answer["content"], other: Answer["content"]): boolean {
  const ids = new Set(content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : [])));
  return other.some((part) => part.type === "tool-call" && part.providerExecuted !== true && !ids.has(part.toolCallId));
}

/**
 * A finish without a reason: models of v2 and v3 end a stream that was cut like that, and every model one whose last choice
 * has an empty text for its reason.
 */
function finishOf(finish: Finish, events: OpenAIEvents): Finish | undefined {
  if (!isSilent(finish)) return finish;
  const reason = events.reason();
  if (reason !== undefined) return { ...finish, finishReason: reasonOf(reason) };
  return events.isCut() ? undefined : finish;
}

/** Whether the error is how `@ai-sdk/openai-compatible` reports a stream without a finish. */
function isEarlyEnd(error: unknown): boolean {
  const { name, data } = Object(error) as { readonly name?: unknown; readonly data?: unknown };
  return name === "AI_InvalidResponseDataError" && data === undefined;
}

/** An event of another shape than the SDK expects. */
function isRefused(error: unknown): error is { readonly value: unknown } {
  return (Object(error) as { readonly name?: unknown }).name === "AI_TypeValidationError";
}

/** What an event has that says something of the answer. */
const telling = "choices candidates delta content_block message item response error".split(" ");

function saysSomething(error: unknown): boolean {
  const { value } = Object(error) as { readonly value?: unknown };
  if (!isRecord(value)) return true;
  return telling.some((key) => key in value && !(Array.isArray(value[key]) && value[key].length === 0));
}

type BlockPart = Extract<LanguageModelV4StreamPart, { type: `${Block["type"]}-${"start" | "delta" | "end"}` }>;

function isBlockPart(part: LanguageModelV4StreamPart): part is BlockPart {
  return /^(text|reasoning)-(start|delta|end)$/.test(part.type);
}

function keyOf({ type, id }: BlockPart): string {
  return `${type.split("-")[0]} ${id}`;
}

interface Gathering {
  take(part: LanguageModelV4StreamPart): void;
  answer(finish?: Finish): Answer;
  /** Calls whose pieces came, and which the SDK keeps until the stream has ended. */
  begunCalls(): readonly ToolCall[];
}

function gather(onDelta: (delta: ModelDelta) => void): Gathering {
  const content: LanguageModelV4Content[] = [];
  const open = new Map<string, Block>();
  const begunCalls = new Map<string, ToolCall>();
  let warnings: Answer["warnings"];
  let modelId: string | undefined;
  let lastItem: string | undefined;
  let hasThoughts = false;

  /** Finds or opens the block of a part. The last metadata of a block count. */
  function block(part: BlockPart): Block {
    const key = keyOf(part);
    const found: Block = open.get(key) ?? { type: part.type.startsWith("text") ? "text" : "reasoning", text: "" };
    if (!open.has(key)) content.push(found);
    open.set(key, found);
    if (part.providerMetadata) found.providerMetadata = part.providerMetadata;
    return found;
  }

  function grow(found: Block, delta: string): void {
    if (delta !== "" && found.type === "text") {
      const item = itemOf(found);
      onDelta({ kind: "text", text: found.text === "" ? separator(lastItem, item) + delta : delta });
      lastItem = item;
    }
    if (delta !== "" && found.type === "reasoning") {
      onDelta({ kind: "reasoning", text: found.text === "" && hasThoughts ? betweenThoughts + delta : delta });
      hasThoughts = true;
    }
    found.text += delta;
  }

  return {
    take(part) {
      const { type } = part;
      if (type === "tool-input-start") {
        begunCalls.set(part.id, { type: "tool-call", toolCallId: part.id, toolName: part.toolName, input: "" });
      }
      const begun = type === "tool-input-delta" ? begunCalls.get(part.id) : undefined;
      if (begun !== undefined && type === "tool-input-delta") begun.input += part.delta;
      if (type === "tool-call") begunCalls.delete(part.toolCallId);
      if (type === "stream-start") warnings = part.warnings;
      else if (type === "response-metadata") modelId = part.modelId ?? modelId;
      else if (type === "tool-result") {
        // A part of a picture that is still being made is none of the answer.
        if (part.preliminary !== true) content.push(part);
      } else if (type === "tool-call" || type === "custom" || type === "source" || type === "file") {
        content.push(part);
      } else if (isBlockPart(part)) {
        // An id can be used again, for a block of its own.
        if (type.endsWith("-start")) open.delete(keyOf(part));
        const found = block(part);
        if ("delta" in part) grow(found, part.delta);
      }
    },
    answer(finish) {
      const { finishReason, usage, providerMetadata } = finish ?? {};
      return { content, finishReason, usage, providerMetadata, warnings, response: { modelId } };
    },
    begunCalls: () => [...begunCalls.values()],
  };
}
