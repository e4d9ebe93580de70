// Summaries of a long history: evaluations of a recorded run that are in no call.
import { deadlineIn, definePrompt, defineTool, trackBudget, type EvaluateOptions, type Message } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { listed } from "./support.ts";

const note = defineTool({ name: "note", description: "N", input: z.object({}), execute: () => "noted" });
const prompt = definePrompt({ key: "notes", sections: [{ key: "task", text: "Go.", tools: [note] }] }).bind();
const messages: readonly Message[] = Array.from({ length: 12 }, (_, place): Message[] => [
  { role: "user", text: `Old ${place}` },
  { role: "assistant", text: "word ".repeat(120), toolCalls: [] },
]).flat();
const step: ScriptedStep = { toolCalls: [{ name: "note" }], usage: { inputTokens: 400, outputTokens: 5 } };
const line: ScriptedStep = { failure: "throttle", kind: "network", message: "The line is cut." };
const summary: ScriptedStep = { text: "A summary.", usage: { inputTokens: 1_000, outputTokens: 5 } };

const adapterOf = (...steps: readonly ScriptedStep[]) =>
  modelAdapter(scriptedModel(steps), { throttle: { maxAttempts: 1 } });

function longChat(adapter = adapterOf(...Array<ScriptedStep>(4).fill(summary))) {
  return { messages, context: { window: 2_600, keepTurns: 1, summary: { adapter } } } satisfies EvaluateOptions;
}

const limits = {
  "an abort while it is written": () => {
    const aborting = new AbortController();
    const model = scriptedModel([summary]);
    const generate: typeof model.generate = async (request) => {
      aborting.abort();
      return model.generate(request);
    };
    return { signal: aborting.signal, ...longChat(modelAdapter({ ...model, generate })) };
  },
  "a deadline while it is written": () => {
    const { clock } = fakeEnvironment();
    const model = scriptedModel([summary]);
    const generate: typeof model.generate = async (request) => {
      await clock.advance(50);
      return model.generate(request);
    };
    return { deadline: deadlineIn(20, clock), ...longChat(modelAdapter({ ...model, generate })) };
  },
  "a budget without room for it": () => ({ budget: { maxTotalTokens: 1_000 }, ...longChat() }),
  "a budget that it passes": () => ({
    budget: { maxTotalTokens: 4_000 },
    ...longChat(adapterOf({ text: "A summary.", usage: { inputTokens: 5_000, outputTokens: 5 } })),
  }),
  "a budget that cuts it short": () => ({
    budget: { maxTotalTokens: 1_800 },
    ...longChat(
      modelAdapter({
        ...scriptedModel([]),
        capabilities: { tools: true, nativeOutput: false, outputLimit: { least: 1 } },
        generate: async ({ maxOutputTokens = 0 }) => ({
          message: { role: "assistant", text: "A summ", toolCalls: [] },
          finishReason: "length",
          usage: { inputTokens: 1_000, outputTokens: maxOutputTokens },
        }),
      }),
    ),
  }),
};

it.each(Object.entries(limits))("RPL-1 RPL-7 CTX-9 %s ends a summary, and the run replays to it", async (_, given) => {
  await using journal = memoryJournal();
  const error: unknown = await adapterOf(step)
    .evaluate(prompt, { ...given(), run: journal.run("r") })
    .catch((thrown: unknown) => thrown);
  const { failure, events } = await replay(prompt, journal.replay("r"), longChat());
  const { name, message } = error as Error;
  expect(failure).toMatchObject({ name, message, code: expect.stringMatching(/^(?:aborted|deadline|budget)$/) });
  const recorded = (await listed(journal.entries("r"))).flatMap((entry) => (entry.kind === "event" ? entry.event : []));
  expect(events).toEqual(recorded);
  expect(events.slice(-2).map(({ type }) => type)).toEqual(["prompt.failed", "prompt.failed"]);
  const again = await replay(prompt, journal.replay("r", { tools: "run" }), longChat());
  expect([again.failure?.message, again.events]).toEqual([message, recorded]);
  // With other limits the summary is written, and the run goes on.
  const { text } = await adapterOf({ text: "Noted." }).evaluate(prompt, { ...longChat(), run: journal.run("r") });
  expect(text).toBe("Noted.");
  expect((await replay(prompt, journal.replay("r"), longChat())).response?.text).toBe("Noted.");
});

it("RSM-1 RSM-6 a summary that the record has is refused to no smaller budget, and counts once", async () => {
  await using journal = memoryJournal();
  const all = trackBudget({ maxTotalTokens: 100_000 });
  const of = () => ({ ...longChat(), run: journal.run("r") });
  await expect(adapterOf(step, step, line).evaluate(prompt, { ...of(), budget: all })).rejects.toThrow("The line");
  expect(all.consumed.totalTokens).toBe(1_815);
  for (const maxTotalTokens of [300, 1_800]) {
    const going = adapterOf({ text: "Noted." }).evaluate(prompt, { ...of(), budget: { maxTotalTokens } });
    await expect(going).rejects.toMatchObject({
      code: "budget",
      message: expect.stringContaining(`limit ${maxTotalTokens}, spent 1815`),
      usage: { totalTokens: 810 },
    });
  }
  const { text } = await adapterOf({ text: "Noted." }).evaluate(prompt, { ...of(), budget: { maxTotalTokens: 4_000 } });
  expect(text).toBe("Noted.");
});

it("RSM-15 a deadline that passes while a summary is read from the record leaves the run as it was", async () => {
  await using journal = memoryJournal();
  const of = () => ({ ...longChat(), run: journal.run("r") });
  await expect(adapterOf(step, line).evaluate(prompt, of())).rejects.toThrow("The line");
  const { clock } = fakeEnvironment();
  const { expiresAt } = deadlineIn(10, clock);
  let asked = 0;
  const late = { expiresAt, remainingMs: () => (asked++ < 4 ? 10 : 0) };
  await expect(adapterOf().evaluate(prompt, { ...of(), deadline: late })).rejects.toMatchObject({ code: "deadline" });
  expect((await adapterOf({ text: "Noted." }).evaluate(prompt, of())).text).toBe("Noted.");
});

it.each([
  [true, false],
  [false, true],
  [true, true],
])(
  "RPL-1 RSM-2 OBS-2 observers around it: %s, and later: %s; a run with a summary replays and goes on",
  async (...has) => {
    let time = 1_000;
    const clock = { now: () => (time += 1), sleep: async () => {} };
    const adapterIn = (isObserved: boolean, ...steps: readonly ScriptedStep[]) =>
      modelAdapter(scriptedModel(steps), {
        clock,
        throttle: { maxAttempts: 1 },
        observers: isObserved ? [{ around: (_step, work) => work() }] : [],
      });
    const of = (isObserved: boolean) => longChat(adapterIn(isObserved, summary, summary));
    await using journal = memoryJournal();
    const [before, after] = has as [boolean, boolean];
    const first = adapterIn(before, step, line).evaluate(prompt, { ...of(before), run: journal.run("r") });
    await expect(first).rejects.toThrow("The line");
    const recorded = (await listed(journal.entries("r"))).flatMap((entry) =>
      entry.kind === "event" ? entry.event : [],
    );
    expect((await replay(prompt, journal.replay("r"), of(after))).events).toEqual(recorded);
    const second = adapterIn(after, { text: "Noted." }).evaluate(prompt, { ...of(after), run: journal.run("r") });
    expect((await second).text).toBe("Noted.");
  },
);
