import {
  definePrompt,
  defineTool,
  trackBudget,
  type BudgetTracker,
  type Clock,
  type ModelProvider,
  type Tool,
} from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
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

/** A clock that can be broken. */
function breakableClock(): { readonly clock: Clock; break(): void } {
  const { clock } = fakeEnvironment();
  let isBroken = false;
  const now = (): number => {
    if (isBroken) throw new Error("The clock is broken.");
    return clock.now();
  };
  return { clock: { ...clock, now }, break: () => void (isBroken = true) };
}

const broken = [
  ["an answer", { message: { role: "assistant", text: "ok", toolCalls: [] }, finishReason: "stop" }],
  ["a failure", { failure: "provider", reason: "bad_request", message: "No.", usage: { inputTokens: 20 } }],
] as const;

test.each(broken)("LIM-5 where the clock breaks while %s is charged, nothing stays reserved", async (_, answer) => {
  const { clock, break: breakClock } = breakableClock();
  const provider: ModelProvider = {
    name: "breaking",
    model: "m",
    capabilities: { tools: true, nativeOutput: true },
    async generate() {
      breakClock();
      return answer;
    },
  };
  const budget = trackBudget({ maxTotalTokens: 20_000 });
  const adapter = modelAdapter(provider, { ...fakeEnvironment(), clock, pricing: { input: 1, output: 1 } });
  await expect(adapter.evaluate(ask, { budget })).rejects.toThrow("The clock is broken.");
  expect(budget.remaining().totalTokens).toBe(20_000 - budget.consumed.totalTokens);
});

/** A tracker of the application's whose `reserve` can be broken. */
function breakableTracker(): { readonly tracker: BudgetTracker; isBroken: boolean } {
  const own = trackBudget({ maxTotalTokens: 20_000 });
  const tracker: BudgetTracker = {
    budget: own.budget,
    get consumed() {
      return own.consumed;
    },
    remaining: () => own.remaining(),
    exceeded: () => own.exceeded(),
    reserve(...given) {
      if (breakable.isBroken) throw new Error("The store is away.");
      return own.reserve(...given);
    },
  };
  const breakable = { tracker, isBroken: false };
  return breakable;
}

const toolCall = (name: string) => ({ toolCalls: [{ name, arguments: {} }] });
const promptWith = (tool: Tool) =>
  definePrompt({ key: tool.name, sections: [{ key: "s", text: "Go.", tools: [tool] }] }).bind();

test("LIM-5 where one of several budgets throws, nothing stays reserved in the others", async () => {
  const around = breakableTracker();
  const [refused, own] = [trackBudget({ maxTotalTokens: 20_000 }), trackBudget({ maxTotalTokens: 20_000 })];
  const left: number[] = [];
  const whileBroken = async (budget: BudgetTracker, work: () => unknown): Promise<void> => {
    around.isBroken = true;
    await rejection((async () => work())());
    around.isBroken = false;
    left.push(budget.consumed.totalTokens + budget.remaining().totalTokens);
  };
  const base = { description: "Works.", input: z.object({}) };
  const reserve = defineTool({
    ...base,
    name: "reserve",
    async execute(_, { budget }) {
      await whileBroken(own, () => budget?.reserve({ inputTokens: 10, outputTokens: 10 }));
      return "ok";
    },
  });
  const inner = modelAdapter(scriptedModel([toolCall("reserve"), { text: "ok" }]), fakeEnvironment());
  const delegate = defineTool({
    ...base,
    name: "delegate",
    async execute(_, { evaluate }) {
      await whileBroken(refused, () => evaluate(ask, { adapter: inner, budget: refused }));
      await evaluate(promptWith(reserve), { adapter: inner, budget: own });
      return "ok";
    },
  });
  const outer = modelAdapter(scriptedModel([toolCall("delegate"), { text: "done" }]), fakeEnvironment());
  await outer.evaluate(promptWith(delegate), { budget: around.tracker });
  expect(left).toEqual([20_000, 20_000]);
});
