// A clock that was set back: what is recorded comes later all the same.
import { allow, definePolicy, definePrompt, defineTool, RunError, suspend } from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { modelAdapter } from "@proviso/runtime";
import { fakeClock, scriptedModel } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { listed } from "./support.ts";

const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => "paid" });
const prompt = definePrompt({ key: "pays", sections: [{ key: "task", text: "Pay.", tools: [pay] }] }).bind();
const later = definePolicy({ name: "chief", check: () => suspend("Pay?") });

/** The clock of the process that began the run: an hour ahead of the machine's. */
const ahead = () => fakeClock(Date.now() + 3_600_000);

/** A run that waits, recorded with a clock that is ahead; returns the token. */
async function suspended(journal: Journal): Promise<string> {
  const model = scriptedModel([{ toolCalls: [{ name: "pay", arguments: {} }] }]);
  const error: unknown = await modelAdapter(model, { clock: ahead() })
    .evaluate(prompt, { run: journal.run("r"), policies: [later] })
    .catch((thrown: unknown) => thrown);
  return (error as RunError).pending?.token ?? "";
}

async function goesOn(journal: Journal): Promise<void> {
  await modelAdapter(scriptedModel([{ text: "Done." }])).evaluate(prompt, { run: journal.run("r"), policies: [later] });
}

it.each<readonly [what: string, kind: string, change: (journal: Journal, token: string) => Promise<unknown>]>([
  ["a decision", "resolved", (journal, token) => journal.resolve(token, allow())],
  ["the end of a run that is cancelled", "cancelled", (journal) => journal.cancel("r")],
  [
    "a run that goes on",
    "resumed",
    async (journal, token) => {
      await journal.resolve(token, allow());
      await goesOn(journal);
    },
  ],
])("JRN-2 %s is no earlier in the record than what is before it, though the clock was set back", async (...given) => {
  const [, kind, change] = given;
  await using journal = memoryJournal();
  const token = await suspended(journal);
  const before = (await journal.describe("r"))?.updatedAt ?? new Date(NaN);
  await change(journal, token);
  const entries = await listed(journal.entries("r"));
  expect(entries.map((entry) => entry.kind)).toContain(kind);
  const times = entries.map(({ at }) => at);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  const after = (await journal.describe("r"))?.updatedAt;
  expect(after?.getTime()).toBeGreaterThanOrEqual(before.getTime());
});
