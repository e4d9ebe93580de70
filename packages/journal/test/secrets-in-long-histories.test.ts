// A record shows no secret, so a history that had one is measured without it: a run goes on with the same estimates.
import { definePrompt, defineTool, type JournalRun } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { listed } from "./support.ts";

const secret = "hunter2-is-the-secret";
const filler = "a line of a log\n".repeat(400);
const places = [
  "no message",
  "a result",
  "a result, often",
  "an argument",
  "the question",
  "a thrown message",
] as const;

function scene(where: (typeof places)[number]) {
  const logs = defineTool({
    name: "logs",
    description: "Logs.",
    input: z.object({ n: z.number(), note: z.string().optional() }),
    readOnly: true,
    execute({ n }) {
      if (where === "a thrown message" && n === 0) throw new Error(`refused: ${secret}`);
      if (where === "a result, often") return { log: `${secret}\n`.repeat(300) + filler };
      return { log: where === "a result" && n === 0 ? `${secret}\n${filler}` : filler };
    },
  });
  const text = where === "the question" ? `Go on. My key is ${secret}.` : "Go on.";
  const note = where === "an argument" ? { note: secret } : {};
  const calls = Array.from({ length: 6 }, (_, n): ScriptedStep => {
    return { toolCalls: [{ name: "logs", arguments: { n, ...note } }] };
  });
  return { prompt: definePrompt({ key: "reads", sections: [{ key: "task", text, tools: [logs] }] }).bind(), calls };
}

it.each(places)("RSM-1 RSM-2 CTX-2 a run with a history that was shortened: a secret in %s", async (where) => {
  await using journal = memoryJournal();
  const { prompt, calls } = scene(where);
  const evaluate = (steps: readonly ScriptedStep[], run: JournalRun) => {
    const adapter = modelAdapter(scriptedModel(steps), { secrets: [secret], throttle: { maxAttempts: 1 } });
    return adapter.evaluate(prompt, { run, context: { window: 4_000 } });
  };
  const done: ScriptedStep = { text: "Done." };
  await evaluate([...calls, done], journal.run("r"));
  expect((await evaluate([], journal.run("r"))).text).toBe("Done.");
  expect((await evaluate([], journal.replay("r"))).text).toBe("Done.");
  const cut: ScriptedStep = { failure: "throttle", kind: "network", message: "Cut." };
  await expect(evaluate([...calls.slice(0, 4), cut], journal.run("s"))).rejects.toThrow("Cut.");
  expect((await evaluate([...calls.slice(4), done], journal.run("s"))).text).toBe("Done.");
});

it.each([0, 1_935, 1_945, 1_955, 1_990, 3_500])(
  "RSM-1 SEC-1 CTX-9 a run whose history was summarised gives its answer again: a secret behind %i characters",
  async (at) => {
    await using journal = memoryJournal();
    const text = `${"word ".repeat(at / 5)}${secret}${"word ".repeat(900 - at / 5)}`;
    const note = defineTool({
      name: "note",
      description: "n",
      input: z.object({}),
      readOnly: true,
      execute: () => text,
    });
    const prompt = definePrompt({ key: "notes", sections: [{ key: "task", text: "Go.", tools: [note] }] }).bind();
    const summaries: string[] = [];
    const summary = modelAdapter(
      {
        ...scriptedModel(Array.from({ length: 20 }, () => ({ text: `So it went, with ${secret}.` }))),
        name: "summaries",
      },
      { observers: [{ event: (event) => void summaries.push(JSON.stringify(event)) }] },
    );
    const evaluate = (steps: readonly ScriptedStep[]) =>
      modelAdapter(scriptedModel(steps), { secrets: [secret] }).evaluate(prompt, {
        run: journal.run("r"),
        context: { window: 4_000, keepTurns: 1, summary: { adapter: summary, maxTokens: 100 } },
      });
    const calls = Array.from({ length: 4 }, (): ScriptedStep => ({ toolCalls: [{ name: "note", arguments: {} }] }));
    await evaluate([...calls, { text: "Done." }]);
    expect(summaries.length).toBeGreaterThan(0);
    for (const shown of [...summaries, JSON.stringify(await listed(journal.entries("r")))])
      expect(shown).not.toMatch(/hunter2|is-the-secret/u);
    expect((await evaluate([])).text).toBe("Done.");
  },
);
