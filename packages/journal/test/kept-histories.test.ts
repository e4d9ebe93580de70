// A run that is forked, or goes on adopted, with another context policy: the recorded steps stand, whatever history they had.
import { definePrompt, defineTool, type ContextPolicy, type EvaluateOptions, type Message } from "@proviso/core";
import { memoryJournal, type Journal, type JournalEntry } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { journalWith, listed } from "./support.ts";

const note = defineTool({ name: "note", description: "N", input: z.object({}), execute: () => "word ".repeat(300) });
const prompt = definePrompt({ key: "notes", sections: [{ key: "task", text: "Go.", tools: [note] }] }).bind();
const messages: readonly Message[] = Array.from({ length: 8 }, (_, place): Message[] => [
  { role: "user", text: `Old ${place}` },
  { role: "assistant", text: "word ".repeat(120), toolCalls: [] },
]).flat();
const step: ScriptedStep = { toolCalls: [{ name: "note", arguments: {} }] };
const line: ScriptedStep = { failure: "throttle", kind: "network", message: "The line is cut." };
const tooLong: ScriptedStep = { failure: "provider", reason: "context_length", message: "Too long." };

const adapterOf = (model: ReturnType<typeof scriptedModel>) => modelAdapter(model, { throttle: { maxAttempts: 1 } });
const evaluate = (steps: readonly ScriptedStep[], options: EvaluateOptions) => {
  const model = scriptedModel(steps);
  return { model, ended: adapterOf(model).evaluate(prompt, { messages, ...options }) };
};
const busy: ScriptedStep = { failure: "throttle", kind: "rate_limit", message: "Busy." };
const summary: ScriptedStep = { text: "A summary." };
const clock = { now: () => Date.now(), sleep: async () => {} };
const summaries = (first: readonly ScriptedStep[] = [], contextWindow = 100_000) => {
  const model = { ...scriptedModel([...first, ...Array<ScriptedStep>(40).fill(summary)]), contextWindow };
  return { adapter: modelAdapter(model, { throttle: { maxAttempts: 2 }, clock, random: () => 0.5 }) };
};

const small = { window: 3_000, keepTurns: 1 };
const policies: Readonly<Record<string, () => ContextPolicy | undefined>> = {
  none: () => undefined,
  "a large window": () => ({ window: 30_000 }),
  "a small window": () => small,
  "a window for the last steps": () => ({ window: 4_500, keepTurns: 1 }),
  "a summary": () => ({ ...small, summary: summaries() }),
  "a summary in pieces": () => ({ ...small, summary: summaries([], 3_200) }),
  "a summary at the second try": () => ({ ...small, summary: summaries([busy]) }),
  "a large window, and a summary": () => ({ window: 30_000, summary: summaries() }),
};
const names = Object.keys(policies).slice(0, -1);
const isShort = (name: string): boolean => name.includes("small") || name.startsWith("a summary");
const pairs = names.flatMap((before) => names.map((after) => [before, after] as const));

const given = (name: string): Pick<EvaluateOptions, "context"> => {
  const context = policies[name]?.();
  return context === undefined ? {} : { context };
};

/** Forks a run at its fourth step and adopts it, each with this policy: both answer, and are replayed. */
async function goesOn(journal: Journal, after: string, check?: (sent: number) => void): Promise<void> {
  const runs = { f: journal.fork("r", { at: 4, id: "f" }), r: journal.run("r", { onChange: "adopt" }) };
  for (const [id, run] of Object.entries(runs)) {
    const { model, ended } = evaluate([{ text: "Noted." }], { ...given(after), run });
    expect((await ended).text).toBe("Noted.");
    check?.(JSON.stringify(model.requests[0]?.messages).length);
    for (const tools of ["recorded", "run"] as const) {
      const replayed = await replay(prompt, journal.replay(id, { tools }), given(after));
      expect(replayed.response?.text).toBe("Noted.");
      const recorded = (await listed(journal.entries(id))).flatMap((entry) =>
        entry.kind === "event" && !entry.isVoid && entry.event.type !== "run.resumed" ? entry.event : [],
      );
      expect(replayed.events.filter(({ type }) => type !== "run.resumed")).toEqual(recorded);
    }
  }
}

it.each(pairs)("FRK-1 RSM-3 CTX-6 recorded with %s, forked and adopted with %s", async (before, after) => {
  await using journal = memoryJournal();
  await expect(evaluate([step, step, line], { ...given(before), run: journal.run("r") }).ended).rejects.toThrow(
    "The line",
  );
  await goesOn(journal, after, (sent) => {
    // What is sent has today's form.
    if (isShort(after)) expect(sent).toBeLessThan(8_000);
    if (before === "none" && after === "none") expect(sent).toBeGreaterThan(8_000);
  });
});

const refused = ["a large window", "a large window, and a summary"];
const ways = Object.keys(policies).flatMap((after) => refused.map((before) => [before, after] as const));

it.each(ways)("FRK-1 RSM-3 CTX-8 refused and recorded with %s, forked and adopted with %s", async (before, after) => {
  await using journal = memoryJournal();
  const { ended } = evaluate([step, tooLong, step, line], { ...given(before), run: journal.run("r") });
  await expect(ended).rejects.toThrow("The line");
  await goesOn(journal, after);
});

it("FRK-1 CTX-8 a run whose history was too long is forked, or goes on, with a context policy", async () => {
  await using journal = memoryJournal();
  await expect(evaluate([step, step, tooLong], { run: journal.run("r") }).ended).rejects.toThrow("Too long.");
  const { ended } = evaluate([{ text: "Noted." }], { context: small, run: journal.fork("r", { at: 4 }) });
  expect((await ended).text).toBe("Noted.");
  // So does the run itself go on: its last request has no answer.
  const again = evaluate([{ text: "Noted too." }], { context: small, run: journal.run("r", { onChange: "adopt" }) });
  expect((await again.ended).text).toBe("Noted too.");
});

const long = "word ".repeat(1_500);
const longPrompt = definePrompt({
  key: "notes",
  sections: [{ key: "task", text: `Go. ${long}`, tools: [note] }],
}).bind();

it("RSM-3 a history that cannot be shortened is no difference: a run that goes on like that is not adopted", async () => {
  await using journal = memoryJournal();
  const context = { window: 4_000, keepTurns: 5 };
  const go = (answer: ScriptedStep, onChange?: "adopt") =>
    adapterOf(scriptedModel([answer])).evaluate(longPrompt, { context, run: journal.run("r", { onChange }) });
  await expect(
    adapterOf(scriptedModel([step, line])).evaluate(longPrompt, { context, run: journal.run("r") }),
  ).rejects.toThrow();
  expect((await go({ text: "Noted." }, "adopt")).text).toBe("Noted.");
  expect((await listed(journal.entries("r"))).map(({ kind }) => kind)).not.toContain("adopted");
});

it("RSM-1 RSM-3 what an older release ended as too long stays ended so, also adopted", async () => {
  const context = { window: 2_600 };
  const ended = (journal: Journal, onChange?: "adopt") =>
    expect(adapterOf(scriptedModel([])).evaluate(longPrompt, { context, run: journal.run("r", { onChange }) })).rejects;
  await using first = memoryJournal();
  await ended(first).toThrow("cannot be shortened");
  const entries = (await listed(first.entries("r"))).map((entry): JournalEntry => {
    if (entry.kind !== "ended") return entry;
    const { goesOn: _goesOn, ...ended } = entry;
    return ended;
  });
  await using journal = await journalWith(entries);
  await ended(journal, "adopt").toThrow("cannot be shortened");
  expect(await journal.describe("r")).toMatchObject({ attempts: 1, state: "failed" });
});
