import {
  definePrompt,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
  type StreamEvent,
} from "@proviso/core";
import type { z } from "zod";

/** An attempt of a model that streams: pieces that it tells, then what it answers with. */
export interface Attempt {
  readonly pieces?: readonly string[];
  readonly answer: Awaited<ReturnType<ModelProvider["generate"]>>;
  /** Told after the answer. */
  readonly late?: readonly string[];
}

export const answer = (text: string, more: Partial<ModelResponse> = {}): ModelResponse => ({
  message: { role: "assistant", text, toolCalls: [] },
  finishReason: "stop",
  usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
  ...more,
});

/** Tells the pieces of one attempt after the other. */
export function streamingModel(attempts: readonly Attempt[]): ModelProvider & { readonly asked: ModelRequest[] } {
  const asked: ModelRequest[] = [];
  return {
    name: "streaming",
    model: "streaming-model",
    capabilities: { tools: true, nativeOutput: true },
    asked,
    async generate(request) {
      const attempt = attempts[asked.length];
      asked.push(request);
      if (attempt === undefined) throw new Error("This request was not expected.");
      for (const text of attempt.pieces ?? []) {
        request.onDelta?.({ kind: "text", text });
        await Promise.resolve();
      }
      if (attempt.late !== undefined) {
        setImmediate(() => attempt.late?.forEach((text) => request.onDelta?.({ kind: "text", text })));
      }
      return attempt.answer;
    },
  };
}

export const hello = definePrompt({ ns: "tests", key: "hello", sections: [{ key: "say", text: "Say hello." }] }).bind(
  {},
);
export const structured = <S extends z.ZodType>(output: S) =>
  definePrompt({ ns: "tests", key: "structured", output, sections: [{ key: "say", text: "Answer." }] }).bind({});

export async function all<T>(stream: AsyncIterable<T>): Promise<readonly T[]> {
  const events: T[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

export function textsOf(events: readonly StreamEvent<unknown>[]): readonly string[] {
  return events.flatMap((event) => {
    if (event.type === "text.delta") return [event.text];
    return event.type === "text.reset" ? ["(reset)"] : [];
  });
}
