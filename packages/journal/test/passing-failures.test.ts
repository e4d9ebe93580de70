import { definePrompt, type EvaluateOptions } from "@proviso/core";
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
type Failing = readonly [goesOn: boolean, code: string, step: ScriptedStep, options: EvaluateOptions];

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
  [false, "provider", { failure: "provider", reason: "bad_request", message: "No." }, {}],
  [false, "output", { text: "no JSON" }, { maxRepairs: 0 }],
])(
  "RSM-1 a run that failed goes on when it is evaluated again: %o, where the failure was %s",
  async (goesOn, code, step, options) => {
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
