import { definePrompt, defineTool, type ModelProvider } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { modelAdapter } from "@proviso/runtime";
import { expect, it } from "vitest";
import { z } from "zod";

const read = defineTool({
  name: "read",
  description: "Reads a page.",
  input: z.object({ page: z.number() }),
  readOnly: true,
  execute: ({ page }) => `page ${page} `.padEnd(2_000, String(page % 10)),
});
const prompt = definePrompt({ key: "p", sections: [{ key: "task", text: "Read.", tools: [read] }] }).bind();

it("CTX-8 RPL-1 where handlers run again, a history that was refused as too long is shortened again", async () => {
  await using journal = memoryJournal();
  let requests = 0;
  const model: ModelProvider = {
    name: "m",
    model: "m-1",
    contextWindow: 8_000,
    maxOutputTokens: 1_000,
    capabilities: { tools: true, nativeOutput: false, outputLimit: { least: 1 } },
    async generate({ messages }) {
      requests += 1;
      const text = JSON.stringify(messages);
      if (text.length > 16_000) return { failure: "provider", reason: "context_length", message: "too long" };
      const page = messages.filter(({ role }) => role === "tool").length + 1;
      const ref = /ref\\": \\"([0-9a-f]{8,})/.exec(text)?.[1];
      const next = ref === undefined ? { name: "read", given: { page } } : { name: "read_result", given: { ref } };
      const isOver = messages.some((message) => message.role === "tool" && message.name === "read_result");
      const call = { id: `call_${page}`, name: next.name, arguments: JSON.stringify(next.given) };
      const message = { role: "assistant", text: isOver ? "Done." : "", toolCalls: isOver ? [] : [call] } as const;
      return { message, finishReason: "stop" };
    },
  };
  const adapter = modelAdapter(model);
  const context = { window: 100_000 };
  const response = await adapter.evaluate(prompt, { run: journal.run("r"), context });
  const asked = requests;
  expect(response.text).toBe("Done.");
  const again = await adapter.evaluate(prompt, { run: journal.replay("r", { tools: "run" }), context });
  expect([again.text, again.usage, requests]).toEqual(["Done.", response.usage, asked]);
});
