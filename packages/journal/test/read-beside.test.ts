// Runs of one journal that are read by some while others are evaluated.
import { definePrompt, defineTool } from "@proviso/core";
import { createJournal, memoryJournal, type Journal } from "@proviso/journal";
import { memoryStore, postgresStore } from "@proviso/journal/internal";
import { folderJournal, sqliteJournal } from "@proviso/journal/node";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { pglite } from "./pglite.ts";
import { folder, listed } from "./support.ts";

const journals: readonly (readonly [string, () => Promise<Journal>])[] = [
  ["memoryJournal", async () => memoryJournal()],
  ["a journal over memoryStore", async () => createJournal(memoryStore())],
  ["sqliteJournal", async () => sqliteJournal(join(await folder(), "runs.db"))],
  ["folderJournal", async () => folderJournal(join(await folder(), "runs"))],
  ["a journal over postgresStore", async () => createJournal(postgresStore(pglite, { prefix: "beside" }))],
];

const reads: Readonly<Record<string, (journal: Journal, id: string) => Promise<unknown>>> = {
  list: (journal) => listed(journal.list()),
  describe: (journal, id) => journal.describe(id),
  session: (journal, id) => journal.session(id, { slices: [] }),
  entries: (journal, id) => listed(journal.entries(id)),
};

const ticks = async (count: number): Promise<void> => {
  for (let tick = 0; tick < count; tick++) await Promise.resolve();
};

/** A run whose two calls wait so many turns of the queue of promises, the first of them once `begins` was called. */
function worked(journal: Journal, id: string, wait: number, begins: () => void = () => {}): Promise<string | null> {
  const note = defineTool({
    name: "note",
    description: "Takes a note.",
    input: z.object({}),
    uses: [],
    async execute() {
      begins();
      await ticks(wait);
      return "ok";
    },
  });
  const prompt = definePrompt({ key: "p", sections: [{ key: "task", text: "Note.", tools: [note] }] }).bind();
  const calls = [{ name: "note", arguments: {} }];
  const model = scriptedModel([{ toolCalls: calls }, { toolCalls: calls }, { text: "Done." }]);
  return modelAdapter(model)
    .evaluate(prompt, { run: journal.run(id) })
    .then(
      ({ text }) => text,
      (error: Error) => error.message,
    );
}

describe.each(journals)("%s", (called, open) => {
  it.each(Object.keys(reads))("RSM-8 %s takes no run over that is being evaluated", async (name) => {
    const journal = await open();
    onTestFinished(() => journal.close());
    // A database takes long for each run.
    const step = called.endsWith("Journal") ? 1 : 6;
    for (let wait = 0; wait < 12; wait += step) {
      const [one, other] = [`one ${wait} ${name}`, `other ${wait} ${name}`];
      const reading: Promise<unknown>[] = [];
      const read = (id: string) => (): void => {
        reading.push((reads[name] as (typeof reads)[string])(journal, id).catch(() => {}));
      };
      const ended = [worked(journal, one, wait, read(other)), worked(journal, other, 7, read(one))];
      expect(await Promise.all(ended), `after ${wait} turns`).toEqual(["Done.", "Done."]);
      await Promise.all(reading);
      for (const id of [one, other]) expect(await journal.describe(id)).toMatchObject({ state: "executed", steps: 5 });
    }
  });
});
