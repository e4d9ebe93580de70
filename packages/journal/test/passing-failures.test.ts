import { definePrompt, defineTool, type EvaluateOptions, type ProviderErrorReason } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";

const prompt = definePrompt({
  key: "answers",
  output: z.object({ n: z.number() }),
  sections: [{ key: "task", text: "Answer." }],
}).bind();
const answer: ScriptedStep = { output: { n: 1 } };

/** An evaluation that fails with this code, and whether its run goes on when it is evaluated again. */
type Failing = readonly [goesOn: boolean, failure: string, step: ScriptedStep, options: EvaluateOptions];

/** Whether a run goes on that a provider ended for this reason: a request that was refused has no answer to give again. */
const reasons: Readonly<Record<ProviderErrorReason, boolean>> = {
  api_key: true,
  context_length: true,
  not_found: true,
  bad_request: true,
  unknown: true,
  content_filter: false,
  refusal: false,
  truncated: false,
  invalid_response: false,
};

const listening = createSession();
listening.on("prompt.executed", () => {
  throw new Error("No room for it.");
});

it.each<Failing>([
  [true, "listener", answer, { session: listening }],
  [true, "throttled", { failure: "throttle", kind: "rate_limit", message: "Later." }, {}],
  [
    true,
    "process",
    { failure: "process", exitCode: 1, signal: null, stderr: "no", message: "It ended with code 1." },
    {},
  ],
  [true, "budget", answer, { budget: { maxTotalTokens: 1 } }],
  ...(Object.entries(reasons) as [ProviderErrorReason, boolean][]).map(([reason, goesOn]): Failing => [
    goesOn,
    `provider: ${reason}`,
    { failure: "provider", reason, message: "No." },
    {},
  ]),
  [false, "output", { text: "no JSON" }, { maxRepairs: 0 }],
])(
  "RSM-1 a run that failed goes on when it is evaluated again: %o, where the failure was %s",
  async (goesOn, failure, step, options) => {
    const code = failure.split(":")[0] as string;
    await using journal = memoryJournal();
    const first = modelAdapter(scriptedModel([step]), { throttle: { maxAttempts: 1 } });
    await expect(first.evaluate(prompt, { ...options, run: journal.run("r") })).rejects.toMatchObject({ code });
    const model = scriptedModel([answer]);
    const again = modelAdapter(model).evaluate(prompt, { run: journal.run("r"), maxRepairs: options.maxRepairs });
    if (goesOn) expect((await again).output).toEqual({ n: 1 });
    else await expect(again).rejects.toMatchObject({ code });
    // What a listener refused had its answer: the run goes on after it.
    expect(model.callCount).toBe(goesOn && code !== "listener" ? 1 : 0);
    const ended = goesOn ? { state: "executed", attempts: 2 } : { state: "failed", attempts: 1 };
    expect(await journal.describe("r")).toMatchObject(ended);
  },
);

it("RSM-1 a run whose key was refused goes on after its calls, and what the refusal cost counts", async () => {
  await using journal = memoryJournal();
  let paid = 0;
  const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => `paid ${++paid}` });
  const paying = definePrompt({ key: "pays", sections: [{ key: "task", text: "Pay.", tools: [pay] }] }).bind();
  const usage = { inputTokens: 10, outputTokens: 1 };
  const refused = { failure: "provider", reason: "api_key", message: "No such key.", status: 401, usage } as const;
  const november = modelAdapter(scriptedModel([{ toolCalls: [{ name: "pay" }], usage }, refused]));
  await expect(november.evaluate(paying, { run: journal.run("r") })).rejects.toMatchObject({ reason: "api_key" });
  const model = scriptedModel([{ text: "Paid.", usage }]);
  const december = modelAdapter(model);
  const response = await december.evaluate(paying, { run: journal.run("r") });
  expect([response.text, response.usage.totalTokens, model.callCount, paid]).toEqual(["Paid.", 33, 1, 1]);
  expect((await december.evaluate(paying, { run: journal.run("r") })).text).toBe("Paid.");
  expect(model.callCount).toBe(1);
});
