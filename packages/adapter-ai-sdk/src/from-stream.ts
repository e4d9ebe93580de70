import type { LanguageModelV4Content, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ModelDelta } from "@proviso/core";
import { eventOrder, type Counts } from "./event-order.ts";
import { itemOf, separator } from "./from-ai-sdk.ts";
import type { Guard } from "./guard.ts";
import { isObject, type Answer } from "./parts.ts";

/** What a stream told instead of an answer. */
export interface StreamFault {
  readonly error: unknown;
}

type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;
type Block = Extract<LanguageModelV4Content, { type: "text" | "reasoning" }>;

/**
 * Reads a stream to its finish, and no further; the deltas add up to the answer's text. A stream that ends without one
 * gives an answer without a finish reason.
 */
export async function fromStream(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  onDelta: (delta: ModelDelta) => void,
  guard: Guard,
): Promise<Answer | StreamFault> {
  const gathering = gather(onDelta);
  const countsOf = eventOrder();
  let counts: Counts = "all";
  const reader = stream.getReader();
  const leave = (): void => void reader.cancel().catch(() => {});
  // The pending read ends with it, also where the model does not look at the signal.
  guard.signal.addEventListener("abort", leave, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      guard.signal.throwIfAborted();
      if (done) return gathering.answer();
      guard.heard();
      if (value.type === "raw") counts = countsOf(value.rawValue);
      else if (value.type === "finish") return gathering.answer(value);
      else if (counts === "nothing" || (counts === "no text" && value.type.endsWith("-delta"))) continue;
      else if (value.type !== "error") gathering.take(value);
      else if (isEarlyEnd(value.error)) return gathering.answer();
      else if (!isForeign(value.error)) return { error: value.error };
    }
  } finally {
    leave();
  }
}

/** How `@ai-sdk/openai-compatible` tells of a stream without a finish. */
function isEarlyEnd(error: unknown): boolean {
  const { name, data } = Object(error) as { readonly name?: unknown; readonly data?: unknown };
  return name === "AI_InvalidResponseDataError" && data === undefined;
}

/** What an event has that says something of the answer. */
const telling = "choices candidates delta content_block message item response error".split(" ");

/** An event that an SDK does not know, and that is none of the answer's. */
function isForeign(error: unknown): boolean {
  const { name, value } = Object(error) as { readonly name?: unknown; readonly value?: unknown };
  return name === "AI_TypeValidationError" && isObject(value) && !telling.some((key) => key in value);
}

type Told = Extract<LanguageModelV4StreamPart, { type: `${Block["type"]}-${"start" | "delta" | "end"}` }>;

function isTold(part: LanguageModelV4StreamPart): part is Told {
  return /^(text|reasoning)-(start|delta|end)$/.test(part.type);
}

function keyOf({ type, id }: Told): string {
  return `${type.split("-")[0]} ${id}`;
}

interface Gathering {
  take(part: LanguageModelV4StreamPart): void;
  answer(finish?: Finish): Answer;
}

function gather(onDelta: (delta: ModelDelta) => void): Gathering {
  const content: LanguageModelV4Content[] = [];
  const open = new Map<string, Block>();
  let warnings: Answer["warnings"];
  let modelId: string | undefined;
  let lastItem: string | undefined;

  /** What is told last of a block's metadata counts. */
  function block(told: Told): Block {
    const key = keyOf(told);
    const found: Block = open.get(key) ?? { type: told.type.startsWith("text") ? "text" : "reasoning", text: "" };
    if (!open.has(key)) content.push(found);
    open.set(key, found);
    if (told.providerMetadata) found.providerMetadata = told.providerMetadata;
    return found;
  }

  function grow(found: Block, delta: string): void {
    if (delta !== "" && found.type === "text") {
      const item = itemOf(found);
      onDelta({ kind: "text", text: found.text === "" ? separator(lastItem, item) + delta : delta });
      lastItem = item;
    }
    found.text += delta;
  }

  return {
    take(part) {
      const { type } = part;
      if (type === "stream-start") warnings = part.warnings;
      else if (type === "response-metadata") modelId = part.modelId ?? modelId;
      else if (type === "tool-call" || type === "tool-result" || type === "custom") content.push(part);
      else if (isTold(part)) {
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
  };
}
