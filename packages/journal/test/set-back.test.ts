// A clock that was set back: what is recorded comes later all the same.
import { allow, definePolicy, definePrompt, defineTool, RunError, suspend } from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { fakeClock, scriptedModel } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { journalWith, listed } from "./support.ts";

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

async function expectNothingEarlier(journal: Journal): Promise<void> {
  const times = (await listed(journal.entries("r"))).map(({ at }) => at);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
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
  await expectNothingEarlier(journal);
  const after = (await journal.describe("r"))?.updatedAt;
  expect(after?.getTime()).toBeGreaterThanOrEqual(before.getTime());
});

it("JRN-2 what happens after a decision is no earlier than the question, though the clock was set back", async () => {
  await using journal = memoryJournal();
  const clock = ahead();
  const slow = definePolicy({
    name: "chief",
    async check() {
      await clock.advance(500);
      return suspend("Pay?");
    },
  });
  const model = scriptedModel([{ toolCalls: [{ name: "pay", arguments: {} }] }]);
  const error: unknown = await modelAdapter(model, { clock })
    .evaluate(prompt, { run: journal.run("r"), policies: [slow] })
    .catch((thrown: unknown) => thrown);
  await journal.resolve((error as RunError).pending?.token ?? "", allow());
  await goesOn(journal);
  await expectNothingEarlier(journal);
});

it("JRN-2 RPL-1 a price that is kept when the run goes on is no earlier than that, and its answer replays", async () => {
  const clock = ahead();
  const priced = { pricing: { input: 1, output: 2 }, clock };
  const steps = [{ toolCalls: [{ name: "pay", arguments: {} }] }, { text: "Done." }];
  await using whole = memoryJournal();
  await modelAdapter(scriptedModel(steps), priced).evaluate(prompt, { run: whole.run("r") });
  const entries = await listed(whole.entries("r"));
  const answered = entries.findIndex(({ kind }) => kind === "answered");
  await using cut = await journalWith(entries.slice(0, answered + 1));
  await clock.advance(60_000);
  const again = modelAdapter(scriptedModel(steps.slice(1)), priced);
  const { usage } = await again.evaluate(prompt, { run: cut.run("r", { takeOver: true }) });
  await expectNothingEarlier(cut);
  expect((await replay(prompt, cut.replay("r"))).response?.usage).toEqual(usage);
});
