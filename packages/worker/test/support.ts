import { definePrompt, defineTool, type ModelProvider, type ModelResponse, type ToolContext } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { defineRun, type RunKindOptions } from "@proviso/worker";
import { z } from "zod";

/** Counts to `upTo`, a call for each number, and answers with the last one. */
export function counting(
  execute: (number: number, context: ToolContext, name: string) => unknown,
  options: () => RunKindOptions = () => ({}),
) {
  const note = defineTool({
    name: "note",
    description: "Notes a number.",
    input: z.object({ number: z.number(), name: z.string() }),
    idempotent: true,
    uses: [],
    async execute({ number, name }, context) {
      await execute(number, context, name);
      return { value: number, text: String(number) };
    },
  });
  const prompt = definePrompt({
    key: "count",
    params: z.object({ name: z.string(), upTo: z.number().int() }),
    sections: [{ key: "task", text: "Count to {{upTo}} for {{name}}.", tools: [note] }],
  });
  return defineRun({ prompt, adapter: modelAdapter(counter), options });
}

/** Asks for the calls that are missing, one after the other. */
const counter: ModelProvider = {
  name: "counter",
  model: "counter-1",
  capabilities: { tools: true, nativeOutput: true },
  async generate({ messages }): Promise<ModelResponse> {
    const text = JSON.stringify(messages);
    const [, upTo = "0", name = ""] = /Count to (\d+) for ([^".]*)/u.exec(text) ?? [];
    const number = messages.filter(({ role }) => role === "tool").length + 1;
    const isOver = number > Number(upTo);
    const call = { id: `call-${number}`, name: "note", arguments: JSON.stringify({ number, name }) };
    return {
      message: { role: "assistant", text: isOver ? `${upTo} for ${name}` : "", toolCalls: isOver ? [] : [call] },
      finishReason: isOver ? "stop" : "tool-calls",
      usage: { inputTokens: 10, outputTokens: 1 },
    };
  },
};

/** Resolves when `isTrue` does; the time limit is the test's. */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 10));
}

export function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}
