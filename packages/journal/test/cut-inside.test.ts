// Evaluations inside calls that a budget ends: a replay whose handlers run again ends them as they ended.
import { BudgetExceededError, definePrompt, defineTool, type EvaluateOptions, type Pace } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";

const usage = { inputTokens: 10, outputTokens: 10 };

/** A run whose call evaluates inside, and tells what it read of the failure; and its replays. */
async function outcomes(
  { inner = {}, outer = {} }: { readonly inner?: EvaluateOptions; readonly outer?: EvaluateOptions },
  isCaught: boolean,
  before = 10,
) {
  const { capabilities, ...scripted } = scriptedModel([
    { text: "yes ".repeat(400), usage: { inputTokens: 10, outputTokens: 200 } },
  ]);
  const adapter = modelAdapter({ ...scripted, capabilities: { ...capabilities, outputLimit: { least: 1 } } });
  const seen: unknown[] = [];
  const think = defineTool({
    name: "think",
    description: "Thinks.",
    input: z.object({}),
    readOnly: true,
    async execute(_, { evaluate }) {
      try {
        return (await evaluate("Think.", { adapter, ...inner })).text;
      } catch (error) {
        if (error instanceof BudgetExceededError) {
          const { code, message, text, dimension, limit, spent, wanted, phase, usage: cost } = error;
          seen.push({ code, message, text, dimension, limit, spent, wanted, phase, cost });
        } else seen.push((error as { readonly code?: string }).code);
        if (isCaught) return `caught ${(error as Error).message}`;
        throw error;
      }
    },
  });
  const thinking = definePrompt({ key: "think", sections: [{ key: "a", text: "Do.", tools: [think] }] }).bind();
  const model = scriptedModel([
    { toolCalls: [{ name: "think" }], usage: { inputTokens: 10, outputTokens: before } },
    { text: "done", usage },
  ]);
  await using journal = memoryJournal();
  const live = await modelAdapter({ ...model, capabilities: { ...model.capabilities, outputLimit: undefined } })
    .evaluate(thinking, { ...outer, run: journal.run("r") })
    .then(
      ({ text }) => text,
      (error: unknown) => (error as Error).message,
    );
  const again: unknown[] = [];
  for (const tools of ["recorded", "run"] as const) {
    const { response, failure } = await replay(thinking, journal.replay("r", { tools }));
    again.push(response?.text ?? failure?.message);
  }
  return { live, again, seen };
}

it.each([
  ["the run's budget", { outer: { budget: { maxTotalTokens: 200 } } }, true],
  ["the run's budget, let through", { outer: { budget: { maxTotalTokens: 200 } } }, false],
  ["a budget of its own", { inner: { budget: { maxTotalTokens: 100 } } }, true],
  ["a budget of its own, let through", { inner: { budget: { maxTotalTokens: 100 } } }, false],
] as const)(
  "RPL-3 a handler that runs again meets what it met of an answer that was cut short by %s",
  async (_, of, isCaught) => {
    const { live, again, seen } = await outcomes(of, isCaught);
    expect(again).toEqual([live, live]);
    expect(seen[0]).toMatchObject({ code: "budget", text: expect.stringContaining("yes yes") as string });
    if (seen.length > 1) expect(seen[1]).toEqual(seen[0]);
    if (isCaught) expect(seen).toHaveLength(2);
  },
);

it.each([
  ["the run's budget", { outer: { budget: { maxTotalTokens: 500 } } }],
  ["a budget of its own", { inner: { budget: { maxTotalTokens: 1 } } }],
])("RPL-3 a call whose evaluation had no room for its request in %s comes to what it came to", async (_, of) => {
  const { live, again, seen } = await outcomes(of, true, 488);
  expect(seen[0]).toMatchObject({ code: "budget", wanted: expect.any(Number) as number });
  expect(again).toEqual([live, live]);
  if (seen.length > 1) expect(seen[1]).toEqual(seen[0]);
});

it("RPL-3 a call whose evaluation was held back by its pace comes to what it came to", async () => {
  const pacing: Pace = {
    enter: () => Promise.resolve({ ok: false, reason: "full", retryAfterMs: 1_000 }),
    state: () => ({ queued: 1, inFlight: 0, requestsPerMinute: 1, tokensPerMinute: undefined, share: 1 }),
  };
  const { live, again, seen } = await outcomes({ inner: { pacing } }, true);
  expect(seen).toEqual(["throttled"]);
  expect(again).toEqual([live, live]);
});

it("RPL-1 the error of a replay has the text of an answer that the budget cut short", async () => {
  await using journal = memoryJournal();
  const step = { text: "yes ".repeat(400), usage: { inputTokens: 10, outputTokens: 200 } };
  const prompt = definePrompt({ key: "say", text: "Say yes." }).bind();
  const evaluating = modelAdapter(scriptedModel([step])).evaluate(prompt, {
    run: journal.run("r"),
    budget: { maxTotalTokens: 100 },
  });
  const live = (await evaluating.catch((error: unknown) => error)) as BudgetExceededError;
  expect(live.text).toContain("yes yes");
  for (const tools of ["recorded", "run"] as const) {
    const { failure } = await replay(prompt, journal.replay("r", { tools }));
    const { code, message, text } = live;
    expect(failure).toMatchObject({ code, message, text });
  }
});
