import {
  countSpending,
  type BudgetExceededError,
  definePrompt,
  defineTool,
  type EvaluateOptions,
  type ModelProvider,
} from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { modelAdapter } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { fakeClock, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";

const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => "seen" });
const prompt = definePrompt({ key: "long", sections: [{ key: "task", text: "Write.", tools: [look] }] }).bind();
const looking: ScriptedStep = { toolCalls: [{ id: "c1", name: "look" }], usage: { inputTokens: 10, outputTokens: 10 } };
/** The scripted model shortens it to the limit that it is given. */
const long: ScriptedStep = { text: "a".repeat(800), usage: { inputTokens: 10, outputTokens: 200 } };

const evaluate = (steps: readonly ScriptedStep[], options: EvaluateOptions) => {
  const { capabilities, ...model } = scriptedModel([...steps]);
  const provider: ModelProvider = { ...model, capabilities: { ...capabilities, outputLimit: { least: 1 } } };
  return modelAdapter(provider).evaluate(prompt, options);
};

it("RSM-1 RSM-6 an answer that a budget cut short is asked for again, and what it cost counts each time", async () => {
  await using journal = memoryJournal();
  const spent: number[] = [];
  for (const maxTotalTokens of [100, 250]) {
    const steps = spent.length === 0 ? [looking, long] : [long];
    const error = (await evaluate(steps, { run: journal.run("r"), budget: { maxTotalTokens } }).catch(
      (thrown: unknown) => thrown,
    )) as { readonly code: string; readonly usage: { readonly totalTokens: number } };
    expect(error).toMatchObject({ code: "budget", message: expect.stringContaining("cut the answer short") as string });
    spent.push(error.usage.totalTokens);
    expect((await journal.describe("r"))?.usage.totalTokens).toBe(error.usage.totalTokens);
  }
  const tracker = countSpending();
  const response = await evaluate([long], { run: journal.run("r"), budget: tracker });
  expect(response.text).toHaveLength(800);
  // The first turn, two answers that were cut, and the one that was not.
  expect(spent[0]).toBeLessThanOrEqual(100);
  expect(spent[1]).toBeGreaterThan(spent[0] ?? 0);
  expect(response.usage.totalTokens).toBe((spent[1] ?? 0) + 210);
  // A tracker that others share is charged for what is sent now.
  expect(tracker.consumed.totalTokens).toBe(210);
  const again = await evaluate([], { run: journal.replay("r") });
  expect([again.text, again.usage]).toEqual([response.text, response.usage]);
  expect((await journal.describe("r"))?.usage).toEqual(response.usage);
});

it("FRK-1 RSM-6 what its origin had spent beside the steps is not the fork's", async () => {
  await using journal = memoryJournal();
  const budget = { maxTotalTokens: 100 };
  await expect(evaluate([looking, long], { run: journal.run("r"), budget })).rejects.toMatchObject({ code: "budget" });
  const whole = await evaluate([looking, long], { run: journal.run("r") });
  // Two turns that stand, beside the answer that was cut.
  expect(whole.usage.totalTokens).toBeGreaterThan(20 + 20 + 210);
  const forked = await evaluate([long], { run: journal.fork("r", { at: 4, id: "f" }) });
  expect(forked.usage.totalTokens).toBe(20 + 20 + 210);
  expect((await journal.describe("f"))?.usage.totalTokens).toBe(20 + 20 + 210);
  expect((await journal.describe("r"))?.usage).toEqual(whole.usage);
});

it("FRK-1 a fork at an answer that a budget cut short asks for it again", async () => {
  await using journal = memoryJournal();
  const budget = { maxTotalTokens: 100 };
  await expect(evaluate([looking, long], { run: journal.run("r"), budget })).rejects.toMatchObject({ code: "budget" });
  const steps = (await journal.describe("r"))?.steps ?? 0;
  const forked = await evaluate([long], { run: journal.fork("r", { at: steps, id: "f" }) });
  expect(forked.text).toHaveLength(800);
  expect((await evaluate([], { run: journal.replay("f") })).text).toBe(forked.text);
});

it.each(["throttle", "provider"] as const)(
  "LIM-10 RPL-1 RSM-1 a chain that has no room for its next model (%s) replays, and goes on with a larger budget",
  async (failure) => {
    await using journal = memoryJournal();
    const usage = { inputTokens: 10, outputTokens: 80 };
    const dear: ScriptedStep =
      failure === "throttle"
        ? { failure, kind: "server_error", message: "busy", usage }
        : { failure, reason: "invalid_response", message: "odd", usage };
    const chainOf = (...models: readonly (readonly ScriptedStep[])[]) =>
      fallback(
        models.map((steps, index) => {
          const { capabilities, ...model } = scriptedModel([...steps]);
          const limited = { ...capabilities, outputLimit: { least: 20 } };
          return modelAdapter({ ...model, name: `m${index}`, capabilities: limited }, { clock: fakeClock() });
        }),
        { clock: fakeClock() },
      );
    const failing = chainOf([looking, dear], []).evaluate(prompt, {
      run: journal.run("r"),
      budget: { maxTotalTokens: 140 },
    });
    const error = (await failing.catch((thrown: unknown) => thrown)) as BudgetExceededError;
    expect(error).toMatchObject({ code: "budget", message: expect.stringContaining("to another model") as string });
    expect(error.usage.totalTokens).toBe(110);
    const again = (await chainOf([], [])
      .evaluate(prompt, { run: journal.replay("r") })
      .catch((thrown: unknown) => thrown)) as BudgetExceededError;
    expect([again.message, again.usage]).toEqual([error.message, error.usage]);
    const response = await chainOf([dear], [{ text: "end", usage: { inputTokens: 10, outputTokens: 10 } }]).evaluate(
      prompt,
      { run: journal.run("r"), budget: { maxTotalTokens: 1_000 } },
    );
    expect([response.text, response.usage.totalTokens]).toEqual(["end", 110 + 90 + 20]);
    expect((await chainOf([], []).evaluate(prompt, { run: journal.replay("r") })).usage).toEqual(response.usage);
  },
);
