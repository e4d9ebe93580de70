// A run that was removed, and another one that was begun under its id, while the writer of the first still works.
import { definePrompt, defineTool } from "@proviso/core";
import { createJournal, type Frame, type Journal, type JournalStore } from "@proviso/journal";
import { memoryStore, postgresStore } from "@proviso/journal/internal";
import { folderJournal, sqliteJournal } from "@proviso/journal/node";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { pglite } from "./pglite.ts";
import { folder, framesOf, listed } from "./support.ts";

/** How many places in the one database there are. */
let tables = 0;

/** Two journals of the same place, as two processes have them. */
const places: readonly (readonly [string, () => Promise<() => Journal>])[] = [
  [
    "memory",
    async () =>
      (
        (store) => () =>
          createJournal(store)
      )(memoryStore()),
  ],
  [
    "a folder",
    async () =>
      (
        (path) => () =>
          folderJournal(path)
      )(await folder()),
  ],
  [
    "SQLite",
    async () =>
      (
        (path) => () =>
          sqliteJournal(path)
      )(join(await folder(), "runs.sqlite")),
  ],
  [
    "Postgres",
    async () =>
      (
        (prefix) => () =>
          createJournal(postgresStore(pglite, { prefix }))
      )(`other_run${"_".repeat((tables += 1))}`),
  ],
];

/** An evaluation that calls `work`, which waits until it is let go, and then `after`. */
function evaluation(who: string, did: string[]) {
  const begun = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const input = z.object({});
  const execute = async () => {
    begun.resolve();
    await go.promise;
    return who;
  };
  const work = defineTool({ name: "work", description: "Works.", input, execute });
  const after = defineTool({ name: "after", description: "Ends.", input, execute: () => void did.push(who) });
  const prompt = definePrompt({ key: "p", sections: [{ key: "t", text: "Go.", tools: [work, after] }] }).bind();
  const calls = ["work", "after"].map((name) => ({ toolCalls: [{ name, arguments: {} }] }));
  const model = modelAdapter(scriptedModel([...calls, { text: who }]));
  const come = (journal: Journal) => model.evaluate(prompt, { run: journal.run("r") }).catch((error: unknown) => error);
  return { come, begun: begun.promise, go: go.resolve };
}

describe.each(places)("%s", (_name, place) => {
  test("JST-3 the evaluation of a removed run writes nothing into the run that was begun under its id, and does no more", async () => {
    const made = await place();
    const [one, two] = [made(), made()];
    onTestFinished(async () => void (await Promise.all([one.close(), two.close()])));
    const did: string[] = [];
    const [first, second] = [evaluation("first", did), evaluation("second", did)];
    const came = first.come(one);
    await first.begun;
    await two.remove("r");
    const other = second.come(two);
    await second.begun;
    first.go();
    expect(await came).toMatchObject({ code: "run", reason: "fenced" });
    second.go();
    expect(await other).toMatchObject({ text: "second" });
    expect(did).toEqual(["second"]);
    const ids = (await listed(two.entries("r"))).map(({ evaluationId }) => evaluationId);
    expect(new Set(ids).size).toBe(1);
  });

  test("RSM-8 FLT-3 the evaluation of a removed run is refused, and not cancelled with the run that was begun under its id", async () => {
    const made = await place();
    const [one, two] = [made(), made()];
    onTestFinished(async () => void (await Promise.all([one.close(), two.close()])));
    const [first, second] = [evaluation("first", []), evaluation("second", [])];
    const came = first.come(one);
    await first.begun;
    await two.remove("r");
    const other = second.come(two);
    await second.begun;
    expect(await two.cancel("r", "The second is not wanted.")).toBe(true);
    first.go();
    expect(await came).toMatchObject({ code: "run", reason: "fenced" });
    second.go();
    expect(await other).toMatchObject({ code: "aborted" });
  });
});

describe("a store of one's own", () => {
  /** Notes each frame that a journal appends. */
  const noting = (frames: Frame[]): JournalStore => {
    const store = memoryStore();
    const append: JournalStore["append"] = (given) => {
      frames.push(...given);
      return store.append(given);
    };
    return { ...store, append };
  };

  test("JST-1 each frame says who began the run that it goes on with: in an attempt, the next one, a decision and a cancelling", async () => {
    const frames: Frame[] = [];
    const store = noting(frames);
    const journal = createJournal(store);
    onTestFinished(() => journal.close());
    const prompt = definePrompt({ key: "p", sections: [{ key: "t", text: "Go." }] }).bind();
    const failing = modelAdapter(scriptedModel([{ text: "…", usage: { outputTokens: 100 } }, { text: "Never." }]));
    const budget = { maxTotalTokens: 1 };
    for (const _attempt of [1, 2]) {
      await expect(failing.evaluate(prompt, { run: journal.run("r"), budget })).rejects.toThrow();
    }
    await journal.cancel("r");
    const [begun, ...others] = await framesOf(store, "r");
    expect(others.length).toBeGreaterThanOrEqual(2);
    const later = frames.filter(({ first }) => first > 0);
    expect(new Set(later.map(({ writer }) => writer)).size).toBeGreaterThanOrEqual(2);
    expect(later.map(({ begunBy }) => begunBy)).toEqual(later.map(() => begun?.writer));
  });

  test("JRN-7 a run that was removed while it was cancelled is not begun by that", async () => {
    const store = memoryStore();
    let isNext = false;
    const append: JournalStore["append"] = async (given) => {
      if (isNext) await store.remove(["r"]);
      isNext = false;
      return store.append(given);
    };
    const journal = createJournal({ ...store, append });
    onTestFinished(() => journal.close());
    const { come, begun } = evaluation("first", []);
    void come(journal);
    await begun;
    isNext = true;
    await expect(journal.cancel("r")).rejects.toMatchObject({ reason: "not_found" });
    expect(await listed(store.list())).toEqual([]);
  });
});
