// A prompt whose model makes twelve calls, one a turn, and the slice that counts them.
import { defineEvent, definePrompt, defineSlice, defineTool, type ModelResponse } from "@proviso/core";
import type { ModelProvider } from "@proviso/core";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

export const calls = 12;

const counted = defineEvent("counted", z.object({ n: z.number() }));
export const numbers = defineSlice({
  name: "numbers",
  initial: [] as readonly number[],
  reducers: ({ on }) => on(counted, (draft, { n }) => void draft.push(n)),
});

/** `begins` is called with each call's number. */
export function counting(begins: (n: number) => unknown) {
  const count = defineTool({
    name: "count",
    description: "Counts.",
    input: z.object({ n: z.number() }),
    async execute({ n }, { session }) {
      await begins(n);
      await sleep(10);
      session.dispatch(counted({ n }));
      return n;
    },
  });
  return definePrompt({
    key: "counting",
    slices: [numbers],
    sections: [{ key: "task", text: "Count.", tools: [count] }],
  }).bind();
}

export const countingModel: ModelProvider = {
  name: "counter",
  model: "counter-1",
  capabilities: { tools: true, nativeOutput: true },
  async generate({ messages }): Promise<ModelResponse> {
    const n = messages.filter(({ role }) => role === "tool").length;
    const isOver = n >= calls;
    const toolCalls = isOver ? [] : [{ id: `c${n}`, name: "count", arguments: JSON.stringify({ n }) }];
    return {
      message: { role: "assistant", text: isOver ? "Counted." : "", toolCalls },
      finishReason: isOver ? "stop" : "tool-calls",
      usage: { inputTokens: 10, outputTokens: 1 },
    };
  },
};
