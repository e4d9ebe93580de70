// A run that goes on with less than it has spent: what the record has is not refused to it.
import { allow, definePolicy, definePrompt, defineTool, suspend, type Prompt } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";

const looks: string[] = [];
const look = defineTool({
  name: "look",
  description: "Looks.",
  input: z.object({ at: z.string() }),
  readOnly: true,
  async execute({ at }, { signal }) {
    looks.push(at);
    if (at !== "long") return at;
    return new Promise<string>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
  },
});
const prompt = definePrompt({ key: "p", sections: [{ key: "task", text: "Look.", tools: [look] }] }).bind();
const asks = (...places: readonly string[]): ScriptedStep => ({
  toolCalls: places.map((at) => ({ name: "look", arguments: { at } })),
  usage: { inputTokens: 400, outputTokens: 5 },
});
const line: ScriptedStep = { failure: "throttle", kind: "network", message: "The line is cut." };

const adapterOf = (...steps: readonly ScriptedStep[]) =>
  modelAdapter(scriptedModel(steps), { throttle: { maxAttempts: 1 } });

it.each([100, 300, 500, 809])(
  "RSM-1 RSM-6 with a budget of %s tokens it ends after its last step",
  async (maxTotalTokens) => {
    await using journal = memoryJournal();
    const evaluate = (steps: readonly ScriptedStep[], of?: Prompt<string>, more = {}) =>
      adapterOf(...steps).evaluate(of ?? prompt, { run: journal.run("r"), ...more });
    await expect(evaluate([asks("a"), asks("b"), line])).rejects.toThrow("The line");
    await expect(evaluate([{ text: "seen" }], prompt, { budget: { maxTotalTokens } })).rejects.toMatchObject({
      code: "budget",
      usage: { totalTokens: 810 },
      message: `The budget is spent: total tokens: limit ${maxTotalTokens}, spent 810, reserved 0.`,
      toolResults: [{ params: { at: "a" } }, { params: { at: "b" } }],
    });
    expect((await journal.describe("r"))?.steps).toBe(4);
    expect((await replay(prompt, journal.replay("r"))).failure).toMatchObject({ code: "throttled" });
    expect((await evaluate([{ text: "seen" }])).text).toBe("seen");
  },
);

it("RSM-1 LIM-4 no call begins beside one that the record has where the budget of now is spent", async () => {
  await using journal = memoryJournal();
  const aborting = new AbortController();
  const first = adapterOf(asks("a", "long")).evaluate(prompt, { run: journal.run("r"), signal: aborting.signal });
  // The short call ends, and the other one has begun.
  await new Promise(setImmediate);
  aborting.abort();
  await expect(first).rejects.toMatchObject({ code: "aborted" });
  looks.length = 0;
  const poor = adapterOf().evaluate(prompt, { run: journal.run("r"), budget: { maxTotalTokens: 300 } });
  const toolResults = [{ params: { at: "a" } }];
  await expect(poor).rejects.toMatchObject({ code: "budget", usage: { totalTokens: 405 }, toolResults });
  expect(looks).toEqual([]);
});

it("RSM-15 SUS-1 the question that a run waits for stands where a smaller budget ends an attempt", async () => {
  await using journal = memoryJournal();
  const policy = definePolicy({
    name: "asks",
    tools: [look],
    check: ({ input }) => (input.at === "b" ? suspend("May it look?") : allow()),
  });
  const of = { run: journal.run("r"), policies: [policy] };
  await expect(adapterOf(asks("a"), asks("b")).evaluate(prompt, of)).rejects.toMatchObject({ reason: "suspended" });
  for (const maxTotalTokens of [300, 500]) {
    const poor = adapterOf().evaluate(prompt, { ...of, budget: { maxTotalTokens } });
    await expect(poor).rejects.toMatchObject({ code: "budget", usage: { totalTokens: 810 } });
    expect((await journal.describe("r"))?.state).toBe("suspended");
  }
});
