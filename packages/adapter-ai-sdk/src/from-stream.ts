import type { LanguageModelV4Content, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ModelDelta } from "@proviso/core";
import { itemOf, separator } from "./from-ai-sdk.ts";
import type { Guard } from "./guard.ts";
import type { Answer } from "./parts.ts";

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
      if (value.type === "error") return { error: value.error };
      gathering.take(value);
      if (value.type === "finish") return gathering.answer(value);
    }
  } finally {
    leave();
  }
}

type Told = Extract<LanguageModelV4StreamPart, { type: `${Block["type"]}-${"start" | "delta" | "end"}` }>;

function kindOf({ type }: Told): Block["type"] {
  return type.startsWith("text") ? "text" : "reasoning";
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
  function block(type: Block["type"], { id, providerMetadata }: Told): Block {
    const key = `${type} ${id}`;
    let found = open.get(key);
    if (found === undefined) {
      found = { type, text: "" };
      content.push(found);
      open.set(key, found);
    }
    if (providerMetadata) found.providerMetadata = providerMetadata;
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
      switch (part.type) {
        case "stream-start":
          warnings = part.warnings;
          break;
        case "response-metadata":
          modelId = part.modelId ?? modelId;
          break;
        case "text-start":
        case "reasoning-start":
          open.delete(`${kindOf(part)} ${part.id}`);
          block(kindOf(part), part);
          break;
        case "text-delta":
        case "reasoning-delta":
          grow(block(kindOf(part), part), part.delta);
          break;
        case "text-end":
        case "reasoning-end":
          block(kindOf(part), part);
          break;
        case "tool-call":
        case "tool-result":
        case "custom":
          content.push(part);
          break;
        default:
      }
    },
    answer(finish) {
      const { finishReason, usage, providerMetadata } = finish ?? {};
      return { content, finishReason, usage, providerMetadata, warnings, response: { modelId } };
    },
  };
}
