// Options that cannot be are refused, by the name of the option, before anything is read or removed.
import { DefinitionError } from "@proviso/core";
import { createJournal, memoryJournal, type Journal } from "@proviso/journal";
import { memoryStore } from "@proviso/journal/internal";
import { folderJournal, sqliteJournal } from "@proviso/journal/node";
import { postgresJournal } from "@proviso/journal/postgres";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder, listed } from "./support.ts";

async function withRuns(): Promise<Journal> {
  const journal = memoryJournal();
  for (const id of ["a", "b", "c"]) {
    await modelAdapter(scriptedModel([{ text: "Done." }])).evaluate("Go.", { run: journal.run(id) });
  }
  return journal;
}

const none = new Date(NaN);
it.each<readonly [string, (journal: Journal, given: never) => unknown, readonly unknown[]]>([
  [
    "prune",
    (journal, given) => journal.prune(given),
    [
      undefined,
      null,
      {},
      { keep: -1 },
      { keep: 1.5 },
      { keep: NaN },
      { keep: "2" },
      { keep: null },
      { endedBefore: none },
      { endedBefore: "2099-01-01" },
      { endedBefore: 1 },
      { kep: 1 },
    ],
  ],
  [
    "list",
    (journal, given) => listed(journal.list(given)),
    [
      null,
      { state: "done" },
      { state: ["open", 1] },
      { since: none },
      { since: 5 },
      { prompt: 1 },
      { prefix: /a/ },
      { ids: [] },
    ],
  ],
  [
    "entries",
    (journal, given) => listed(journal.entries("a", given)),
    [null, { after: NaN }, { after: "1" }, { after: -2 }, { follow: "no" }, { signal: {} }, { from: 1 }],
  ],
  [
    "session",
    (journal, given) => journal.session("a", given),
    [undefined, null, {}, { slices: {} }, { slices: [], at: -1 }, { slices: [], at: "1" }, { slices: [], step: 1 }],
  ],
  ["cancel", (journal, given) => journal.cancel("a", given), [1, {}, null]],
  [
    "run",
    (journal, given) => journal.run("d", given),
    [null, 1, { onChange: "yes" }, { takeOver: "dead" }, { id: "x" }],
  ],
  ["replay", (journal, given) => journal.replay("a", given), [null, { tools: true }, { tool: "run" }]],
  [
    "fork",
    (journal, given) => journal.fork("a", given),
    [undefined, null, {}, { at: -1 }, { at: "1" }, { at: 1, id: "" }],
  ],
])("JRN-14 what %s cannot take is a DefinitionError, and nothing is done", async (_, use, all) => {
  const journal = await withRuns();
  for (const given of all) {
    const outcome = (async () => use(journal, given as never))();
    await expect(outcome, JSON.stringify(given)).rejects.toBeInstanceOf(DefinitionError);
  }
  expect(await listed(journal.list())).toHaveLength(3);
  expect(await journal.describe("a")).toMatchObject({ state: "executed" });
});

it("JRN-14 a journal is not opened with options that cannot be", async () => {
  const path = await folder();
  const opened: readonly ((given: never) => unknown)[] = [
    (given) => memoryJournal(given),
    (given) => createJournal(memoryStore(), given),
    (given) => folderJournal(join(path, "runs"), given),
    (given) => sqliteJournal(join(path, "runs.db"), given),
    (given) => postgresJournal({ query: async () => ({ rows: [] }) } as never, given),
  ];
  for (const open of opened) {
    for (const given of [
      null,
      1,
      { flushMs: -1 },
      { flushMs: "5" },
      { payloads: "yes" },
      { secrets: "a" },
      { flush: 1 },
    ]) {
      expect(() => open(given as never), JSON.stringify(given)).toThrow(DefinitionError);
    }
  }
  for (const retention of [null, 3]) {
    expect(() => sqliteJournal(join(path, "runs.db"), { retention: retention as never })).toThrow(DefinitionError);
  }
});

it("JRN-14 what is no store is refused with the methods that it lacks", () => {
  for (const store of [undefined, null, {}, { ...memoryStore(), read: undefined }]) {
    expect(() => createJournal(store as never), JSON.stringify(store)).toThrow(DefinitionError);
  }
});
