import { definePolicy, definePrompt, defineTool, suspend, type EvaluationFailure } from "@proviso/core";
import { createJournal, type Journal, type JournalStore } from "@proviso/journal";
import { folderStore, frameSum, memoryStore, sqliteStore } from "@proviso/journal/internal";
import { sqliteJournal, type Retention } from "@proviso/journal/node";
import { modelAdapter } from "@proviso/runtime";
import { failingModel, fakeClock, scriptedModel } from "@proviso/runtime/testing";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { z } from "zod";
import { folder, framesOf, listed } from "./support.ts";

const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => "paid" });
const prompt = definePrompt({ key: "pays", sections: [{ key: "task", text: "Pay.", tools: [pay] }] }).bind();
const later = definePolicy({ name: "chief", check: () => suspend("Pay?") });

async function answered(journal: Journal, id: string, clock = fakeClock(Date.now())): Promise<void> {
  const adapter = modelAdapter(scriptedModel([{ text: "Done." }]), { clock });
  await adapter.evaluate(prompt, { run: journal.run(id) });
}

async function suspended(journal: Journal, id: string, clock = fakeClock(Date.now())): Promise<void> {
  const adapter = modelAdapter(scriptedModel([{ toolCalls: [{ name: "pay", arguments: {} }] }]), { clock });
  await adapter.evaluate(prompt, { run: journal.run(id), policies: [later] }).catch(() => {});
}

/** What is there after the journal was opened with a retention, and closed again. */
async function after(path: string, retention: Retention): Promise<readonly string[]> {
  await sqliteJournal(path, { retention }).close();
  await using journal = sqliteJournal(path);
  return (await listed(journal.list())).map(({ id }) => id).toSorted();
}

test("JRN-10 a journal that is opened removes runs that ended: the oldest beyond a number, and those of some days ago", async () => {
  const path = join(await folder(), "runs.db");
  const old = fakeClock(Date.now() - 3 * 86_400_000);
  {
    await using journal = sqliteJournal(path);
    await suspended(journal, "waits", old);
    await answered(journal, "old", old);
    for (const id of ["a", "b", "c"]) await answered(journal, id);
  }
  expect(await after(path, { days: 4, runs: 10 })).toEqual(["a", "b", "c", "old", "waits"]);
  expect(await after(path, { days: 2 })).toEqual(["a", "b", "c", "waits"]);
  expect(await after(path, { runs: 1 })).toHaveLength(2);
  expect(await after(path, { runs: 0 })).toEqual(["waits"]);
});

test.runIf(inject("exhaustive"))("JRN-10 a journal that stays open prunes after every thousand attempts", async () => {
  const path = join(await folder(), "runs.db");
  const journal = sqliteJournal(path, { retention: { runs: 5 } });
  for (let n = 0; n < 1_003; n++) await answered(journal, `run ${n}`);
  await journal.close();
  await using again = sqliteJournal(path);
  const left = (await listed(again.list())).map(({ id }) => id);
  expect(left.length).toBeLessThanOrEqual(8);
  expect(left).toContain("run 1002");
});

test("JRN-10 a retention that cannot be is refused", async () => {
  const path = join(await folder(), "runs.db");
  const open = (retention: unknown) => () => sqliteJournal(path, { retention: retention as Retention });
  expect(open({})).toThrow("needs days, runs or both");
  expect(open({ days: 0 })).toThrow("The option days must be a positive number");
  expect(open({ runs: 1.5 })).toThrow("The option runs must be a whole number from 0");
  expect(open({ weeks: 1 })).toThrow("weeks");
});

test.each<readonly [string, (path: string) => JournalStore]>([
  ["memory", () => memoryStore()],
  ["a folder", (path) => folderStore(path)],
  ["an SQLite file", (path) => sqliteStore(path)],
  ["a store of one's own", () => ({ ...memoryStore(), removeUnchanged: undefined as never })],
])("JRN-10 a run in %s that has gone on since it was listed stays", async (_what, open) => {
  const store = open(join(await folder(), "runs"));
  await using other = createJournal(store);
  const cut = [{ failure: "throttle", kind: "network", message: "The connection was lost." } as const];
  for (const id of ["waits", "fails", "answers"]) {
    const adapter = modelAdapter(scriptedModel(cut), { throttle: { maxAttempts: 1 } });
    await adapter.evaluate(prompt, { run: other.run(id), policies: [later] }).catch(() => {});
  }
  const journal = createJournal({
    ...store,
    async *list() {
      yield* store.list();
      await suspended(other, "waits");
      await answered(other, "answers");
    },
  });
  expect(await journal.prune({ keep: 0 })).toBe(1);
  const left = await listed(other.list());
  expect(Object.fromEntries(left.map(({ id, state }) => [id, state]))).toEqual({
    answers: "executed",
    waits: "suspended",
  });
  expect(await other.prune({ keep: 0 })).toBe(1);
});

test("JRN-10 a run that stays open because a queue goes on with it is kept; where nothing goes on with it, it has failed", async () => {
  await using journal = createJournal(memoryStore());
  const end = async (id: string, staysOpen?: (error: EvaluationFailure) => boolean): Promise<unknown> => {
    const adapter = modelAdapter(
      failingModel({ failure: "throttle", kind: "rate_limit", retry: false, message: "busy" }),
    );
    await adapter.evaluate(prompt, { run: journal.run(id, { staysOpen }) }).catch(() => {});
    return (await journal.describe(id))?.state;
  };
  const asked: string[] = [];
  const goesOn = (error: EvaluationFailure): boolean => asked.push(error.code) > 0;
  expect([await end("waits", goesOn), await end("failed"), await end("no", () => false)]).toEqual([
    "open",
    "failed",
    "failed",
  ]);
  expect(asked).toEqual(["throttled"]);
  expect(await journal.prune({ keep: 0 })).toBe(2);
  expect((await listed(journal.list({ state: "open" }))).map(({ id }) => id)).toEqual(["waits"]);
  // The next attempt goes on where it was, and its end counts.
  await answered(journal, "waits");
  expect((await journal.describe("waits"))?.state).toBe("executed");
  expect(() => journal.run("r", { staysOpen: true as never })).toThrow("staysOpen has to be a function");
});

test("JRN-10 the oldest runs go first: where a pruning breaks off, the newest are still there", async () => {
  const clock = fakeClock(1_800_000_000_000);
  const store = memoryStore();
  const own = createJournal(store);
  const ids = Array.from({ length: 50 }, (_, n) => `run ${n}`);
  for (const id of ids) {
    await clock.advance(1_000);
    await answered(own, id, clock);
  }
  let steps = 0;
  const breaks = createJournal({
    ...store,
    removeUnchanged: undefined as never,
    async remove(runs: readonly string[]) {
      if (++steps === 3) throw new Error("The disk is gone.");
      await store.remove(runs);
    },
  });
  await expect(breaks.prune({ keep: 5 })).rejects.toThrow("The disk is gone.");
  const left = (await listed(own.list())).map(({ id }) => id);
  expect(left.toSorted()).toEqual(ids.slice(40).toSorted());
});

test("JRN-10 timers have their turns while runs are removed", async () => {
  const path = join(await folder(), "many.db");
  {
    const journal = sqliteJournal(path);
    await answered(journal, "run-0");
    const copies = createJournal(memoryStore());
    await journal.copy("run-0", copies);
    const store = sqliteStore(path);
    const frames = await framesOf(store, "run-0");
    for (let at = 1; at <= 600; at++) {
      const run = `run-${at}`;
      await store.append(frames.map((one) => ({ ...one, run, sum: frameSum({ ...one, run }) })));
    }
    await store.close();
    await journal.close();
  }
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  await using journal = sqliteJournal(path);
  expect(await journal.prune({ keep: 0 })).toBe(601);
  clearInterval(timer);
  expect(turns).toBeGreaterThan(0);
});
