// A run that is forked, or goes on adopted, with another context policy: the recorded steps stand, whatever history they had.
import { definePrompt, defineTool, type ContextPolicy, type EvaluateOptions, type Message } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { listed } from "./support.ts";

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
const summaries = () => adapterOf(scriptedModel(Array<ScriptedStep>(20).fill({ text: "A summary." })));

const small = { window: 3_000, keepTurns: 1 };
const policies: Readonly<Record<string, () => ContextPolicy | undefined>> = {
  none: () => undefined,
  "a large window": () => ({ window: 30_000 }),
  "a small window": () => small,
  "a window for the last steps": () => ({ window: 4_500, keepTurns: 1 }),
  "a summary": () => ({ ...small, summary: { adapter: summaries() } }),
};
const names = Object.keys(policies);
const pairs = names.flatMap((before) => names.map((after) => [before, after] as const));

const given = (name: string): Pick<EvaluateOptions, "context"> => {
  const context = policies[name]?.();
  return context === undefined ? {} : { context };
};

it.each(pairs)("FRK-1 RSM-3 CTX-6 recorded with %s, forked and adopted with %s", async (before, after) => {
  await using journal = memoryJournal();
  await expect(evaluate([step, step, line], { ...given(before), run: journal.run("r") }).ended).rejects.toThrow(
    "The line",
  );
  const runs = { f: journal.fork("r", { at: 4, id: "f" }), r: journal.run("r", { onChange: "adopt" }) };
  for (const [id, run] of Object.entries(runs)) {
    const { model, ended } = evaluate([{ text: "Noted." }], { ...given(after), run });
    expect((await ended).text).toBe("Noted.");
    // What is sent has today's form.
    const sent = JSON.stringify(model.requests[0]?.messages).length;
    if (after.includes("small") || after === "a summary") expect(sent).toBeLessThan(8_000);
    if (!before.includes("window") && before !== "a summary" && !given(after).context)
      expect(sent).toBeGreaterThan(8_000);
    const replayed = await replay(prompt, journal.replay(id), given(after));
    expect(replayed.response?.text).toBe("Noted.");
    const recorded = (await listed(journal.entries(id))).flatMap((entry) =>
      entry.kind === "event" && !entry.isVoid && entry.event.type !== "run.resumed" ? entry.event : [],
    );
    expect(replayed.events.filter(({ type }) => type !== "run.resumed")).toEqual(recorded);
  }
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
