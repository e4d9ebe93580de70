import { definePrompt, trackBudget } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";

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
