import { definePrompt, defineTool, trackBudget, type ReportedUsage } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";

/** Real counts of o200k_base, as gpt-tokenizer 4.0.0 gives them. */
const counted = {
  English: [
    "After a long discussion the members agreed on a trial period of three months. Visitors will be able to borrow and return books by themselves, using the machines near the entrance.",
    34,
  ],
  German: [
    "Nach einer ausführlichen Aussprache einigte sich der Ausschuss auf eine dreimonatige Übergangsregelung. Das vollständige Sitzungsprotokoll steht auf unserer Internetseite.",
    37,
  ],
  Chinese: ["经过长时间的讨论，委员会同意先试行三个月。读者可以使用入口处的自助设备借书和还书。", 31],
  JSON: [
    '{"orderId":"ord_20260314_88213","items":[{"sku":"KB-104-US","quantity":2,"unitPrice":89.9,"shippedAt":"2026-03-15T08:21:44Z"}],"express":false}',
    57,
  ],
  "source code": [
    "  add(key: string, value: Value, createdAt = Date.now()): void {\n    const items = this.#items.get(key) ?? [];\n    items.splice(index + 1, 0, { key, value, createdAt });\n  }\n",
    52,
  ],
} as const satisfies Record<string, readonly [string, number]>;

/** What a request reserves beside its answer, less what is counted around one message. */
async function estimateOf(text: string): Promise<number> {
  const budget = trackBudget({ maxTotalTokens: 10_000_000 });
  let reserved = 0;
  const model = scriptedModel([
    () => {
      reserved = 10_000_000 - budget.remaining().totalTokens;
      return { text: "ok" };
    },
  ]);
  Object.assign(model, { maxOutputTokens: 1 });
  const prompt = definePrompt({ ns: "tests", key: "tokens", sections: [{ key: "a", text, role: "user" }] }).bind();
  await modelAdapter(model, fakeEnvironment()).evaluate(prompt, { budget });
  return reserved - 1 - 12 - 8;
}

test.each(Object.entries(counted))("LIM-11 %s is estimated to 0.8 to 1.5 of its tokens", async (_, [text, tokens]) => {
  const ratio = (await estimateOf(text.repeat(5))) / (5 * tokens);
  expect(ratio).toBeGreaterThanOrEqual(0.8);
  expect(ratio).toBeLessThanOrEqual(1.5);
});

test.each(Object.entries(counted))(
  "LIM-6 %s that no provider counted is charged as the budget estimates it",
  async (_, [text, tokens]) => {
    const prompt = definePrompt({ ns: "tests", key: "uncounted", text: text.repeat(5) }).bind();
    const { usage } = await modelAdapter(
      scriptedModel([{ text: text.repeat(5), usage: {} }]),
      fakeEnvironment(),
    ).evaluate(prompt);
    expect(usage.estimated).toBe(true);
    for (const count of [usage.inputTokens - 12 - 8, usage.outputTokens]) {
      expect(count / (5 * tokens)).toBeGreaterThanOrEqual(0.8);
      expect(count / (5 * tokens)).toBeLessThanOrEqual(1.5);
    }
  },
);

test("LIM-6 LIM-11 what no provider counted is charged with its tools, and after a counted turn from that turn's count on", async () => {
  const look = defineTool({
    name: "look",
    description: "Looks around, and says what there is to be seen. ".repeat(20),
    readOnly: true,
    input: z.object({}),
    execute: () => "There is nothing.",
  });
  const prompt = definePrompt({
    ns: "tests",
    key: "uncounted",
    sections: [{ key: "a", text: "Look.", tools: [look] }],
  }).bind();
  const inputOf = async (reported: ReportedUsage): Promise<number> => {
    const steps = [
      { toolCalls: [{ name: "look", arguments: {} }], usage: reported },
      { text: "Nothing.", usage: {} },
    ];
    const { usage } = await modelAdapter(scriptedModel(steps), fakeEnvironment()).evaluate(prompt);
    return usage.inputTokens;
  };
  // Two requests with a description of 240 tokens each.
  expect(await inputOf({})).toBeGreaterThan(2 * 200);
  const counted = await inputOf({ inputTokens: 1_000, outputTokens: 10 });
  expect(counted).toBeGreaterThan(2_000);
  expect(counted).toBeLessThan(2_060);
  // Tokens of an answer beside an input that was not reported say nothing of what is sent next.
  expect(await inputOf({ outputTokens: 5_000 })).toBe(await inputOf({}));
});
