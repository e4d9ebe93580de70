import { definePrompt, type ModelProvider } from "@proviso/core";
import { defineEval, formatReport, runEval } from "@proviso/evals";
import { modelAdapter } from "@proviso/runtime";
import { expect, it } from "vitest";
import { z } from "zod";

const ask = definePrompt({ key: "ask", params: z.object({ text: z.string() }), text: "{{text}}" });

/** A model that reports what the tokens of an answer cost, but for some of them. */
function reporting(unpricedTokens: number): ReturnType<typeof modelAdapter> {
  const usage = { inputTokens: 10, outputTokens: 10, costUsd: 0.01, unpricedTokens };
  const provider: ModelProvider = {
    name: "partial",
    model: "partial-1",
    capabilities: { tools: true, nativeOutput: true },
    generate: async () => ({ message: { role: "assistant", text: "a", toolCalls: [] }, finishReason: "stop", usage }),
  };
  return modelAdapter(provider);
}

it.each([
  { unpricedTokens: 0, isKnown: true, shown: "40 tokens, 0.0200 US dollars" },
  { unpricedTokens: 5, isKnown: false, shown: "40 tokens, at least 0.0200 US dollars" },
])("LIM-14 a cost of which $unpricedTokens tokens have no price", async ({ unpricedTokens, isKnown, shown }) => {
  const report = await runEval(
    defineEval({
      name: "partial",
      prompt: ({ text }: { readonly text: string }) => ask.bind({ text }),
      data: [{ text: "one" }, { text: "two" }],
      scorers: { any: () => true },
      adapter: reporting(unpricedTokens),
    }),
  );
  expect(report.variants["default"]?.measures.costUsd !== undefined).toBe(isKnown);
  expect(report.variants["default"]?.measures.inputTokens?.value).toBe(10);
  expect(report.spent.unpricedTokens).toBe(isKnown ? undefined : 10);
  expect(formatReport(report)).toContain(shown);
});
