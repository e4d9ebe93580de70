import type { ModelProvider } from "@proviso/core";
import { fallback, hedged } from "@proviso/runtime/routing";
import { expect, test } from "vitest";
import { rejection } from "../support.ts";
import { chat, modelOf, tokensOf } from "./support.ts";

const down = () => ({ failure: "throttle", kind: "server_error", message: "Down.", retry: false }) as const;
/** Of these the catalog has windows: 128,000 and 8,192 tokens. */
const [large, small] = ["gpt-4o", "gpt-4"].map((model) => ({ name: "openai", model, contextWindow: undefined })) as [
  Partial<ModelProvider>,
  Partial<ModelProvider>,
];
const unknown = { contextWindow: undefined };
const stated = { contextWindow: 5_000 };

/** Whether the second model of a chain, whose first one is down, is sent the whole history. */
async function isWhole(first: Partial<ModelProvider>, second: Partial<ModelProvider>, how = "fallback") {
  const [one, other] = [modelOf(down, first), modelOf(() => ({ text: "Yes." }), second)];
  const chain = fallback([one.adapter, other.adapter]);
  const further = modelOf(down, unknown).adapter;
  const around = {
    fallback: chain,
    nested: fallback([further, chain]),
    hedged: hedged([chain, further], { afterMs: 9e6 }),
  };
  await around[how as keyof typeof around].evaluate("And now?", { context: {}, messages: chat(20) });
  return Math.max(...other.requests.map(tokensOf)) > 10_000;
}

test.each([
  ["one that its provider states, behind one of the catalog", large, stated, false],
  ["one that its provider states, before one that is not known", stated, unknown, false],
  ["one of the catalog, behind a larger one", large, small, false],
  ["one of the catalog, behind one that is not known", unknown, small, false],
  ["a large one beside one that is not known", unknown, large, true],
])("CTX-3 RTE-6 a chain has the smallest window that is known: %s", async (_, first, second, whole) => {
  for (const how of ["fallback", "nested", "hedged"]) expect(await isWhole(first, second, how), how).toBe(whole);
});

test("CTX-1 CTX-3 the room beside an answer is that of each model of a chain", async () => {
  // Of 12,000 tokens 9,000 are left, and of 10,000 there are 4,000.
  const fields = [
    { contextWindow: 12_000, maxOutputTokens: 3_000 },
    { contextWindow: 10_000, maxOutputTokens: 6_000 },
  ];
  const models = fields.map((one, index) => modelOf(index === 0 ? down : () => ({ text: "Yes." }), one));
  await fallback(models.map(({ adapter }) => adapter)).evaluate("And now?", { context: {}, messages: chat(12) });
  for (const { requests } of models) expect(Math.max(...requests.map(tokensOf))).toBeLessThanOrEqual(4_000);
});

test("CTX-3 a chain of models whose windows are not known ends before anything is sent", async () => {
  const models = [1, 2].map(() => modelOf(() => ({ text: "Yes." }), unknown));
  const chain = fallback(models.map(({ adapter }) => adapter));
  const error = await rejection(chain.evaluate("And now?", { context: {} }));
  expect(error).toMatchObject({ code: "render" });
  expect(error.message).toContain("context.window");
  expect(models.flatMap(({ requests }) => requests)).toEqual([]);
});

test("CTX-3 where no room is left the message names the model of a chain that has none", async () => {
  const [one, other] = [
    modelOf(() => ({ text: "Yes." })),
    modelOf(() => ({ text: "Yes." }), { model: "tiny", contextWindow: 900 }),
  ];
  const error = await rejection(fallback([one.adapter, other.adapter]).evaluate("And now?", { context: {} }));
  expect(error.message).toContain('The window of "tiny", 900 tokens, leaves no room');
});
