import { definePrompt, trackBudget, type ModelProvider } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { rejection } from "../support.ts";

const ask = definePrompt({ ns: "tests", key: "ask", text: "Ask." }).bind();
const long = definePrompt({ ns: "tests", key: "long", text: "word ".repeat(200) }).bind();

/** Answers when it is let, in the order of the requests. */
function held() {
  const open: (() => void)[] = [];
  const provider: ModelProvider = {
    name: "held",
    model: "m",
    maxOutputTokens: 50,
    capabilities: { tools: true, nativeOutput: true, outputLimit: { least: 1 } },
    async generate() {
      await new Promise<void>((resolve) => open.push(resolve));
      const usage = { inputTokens: 20, outputTokens: 10, totalTokens: 30 };
      return { message: { role: "assistant", text: "ok", toolCalls: [] }, finishReason: "stop", usage };
    },
  };
  return { adapter: modelAdapter(provider, { ...fakeEnvironment(), pricing: { input: 1, output: 1 } }), open };
}

const turn = async (ticks = 50): Promise<void> => {
  for (let n = 0; n < ticks; n++) await Promise.resolve();
};

test("LIM-5 those that stand behind a large request get their place when it gives up, and not when another one settles", async () => {
  const { adapter, open } = held();
  const budget = trackBudget({ maxTotalTokens: 300 });
  const first = adapter.evaluate(ask, { budget });
  await turn();
  const controller = new AbortController();
  const large = rejection(adapter.evaluate(long, { budget, signal: controller.signal }));
  const small = adapter.evaluate(ask, { budget });
  await turn();
  expect(open).toHaveLength(1);
  controller.abort("enough");
  expect(await large).toMatchObject({ code: "aborted", cause: "enough" });
  await turn();
  expect(open).toHaveLength(2);
  for (const answer of open) answer();
  await Promise.all([first, small]);
  expect(budget.remaining().totalTokens).toBe(300 - 2 * 30);
});

test("LIM-5 LIM-2 an abort at any moment around the one at which a request gets its place leaves nothing reserved", async () => {
  const sent = new Set<boolean>();
  for (let ticks = 0; ticks < 40; ticks++) {
    const { adapter, open } = held();
    const budget = trackBudget({ maxTotalTokens: 100 });
    const first = adapter.evaluate(ask, { budget });
    const controller = new AbortController();
    const second = rejection(adapter.evaluate(ask, { budget, signal: controller.signal }));
    await turn();
    open[0]?.();
    await turn(ticks);
    controller.abort("enough");
    expect(await second).toMatchObject({ code: "aborted" });
    await first;
    sent.add(open.length === 2);
    expect([ticks, budget.remaining().totalTokens]).toEqual([ticks, 70]);
  }
  expect(sent.size).toBe(2);
});
