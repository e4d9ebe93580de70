import type { Frame, JournalStore } from "@proviso/journal";
import { memoryStore, postgresStore, readFrames, sqliteStore } from "@proviso/journal/internal";
import fc from "fast-check";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { pglite } from "./pglite.ts";
import { folder, frame, listed } from "./support.ts";

type Step =
  | { readonly kind: "append"; readonly frames: readonly Frame[] }
  | { readonly kind: "remove"; readonly run: string };

const run = fc.constantFrom("a", "b", "c");
const frames = fc.record({
  run,
  first: fc.nat({ max: 6 }),
  count: fc.integer({ min: 1, max: 3 }),
  writer: fc.constantFrom("one", "two"),
  begunBy: fc.constantFrom("one", "two", undefined),
  body: fc.constantFrom("x", "y"),
});
const steps = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc
        .array(frames.map(frame), { maxLength: 4 })
        .map((given): Step => ({ kind: "append", frames: given })),
    },
    { weight: 1, arbitrary: run.map((id): Step => ({ kind: "remove", run: id })) },
  ),
  { maxLength: 30 },
);

/** The rules once more, as plainly as they can be written. */
class Model {
  runs: (readonly [string, readonly Frame[]])[] = [];
  append(given: Frame): "kept" | "fenced" {
    const [, known] = this.runs.find(([id]) => id === given.run) ?? [given.run, []];
    const length = known.reduce((sum, { count }) => sum + count, 0);
    const isOther = given.first > 0 && ![undefined, known[0]?.writer].includes(given.begunBy);
    if (given.first === length && !isOther) {
      this.remove(given.run);
      this.runs = [[given.run, [...known, frame({ ...given, begunBy: undefined })]], ...this.runs];
      return "kept";
    }
    const same = known.find(({ first }) => first === given.first);
    return same?.writer === given.writer && same.sum === given.sum ? "kept" : "fenced";
  }
  remove(id: string): void {
    this.runs = this.runs.filter(([known]) => known !== id);
  }
}

async function obeys(store: JournalStore, given: readonly Step[]): Promise<void> {
  const model = new Model();
  for (const step of given) {
    if (step.kind === "append") {
      expect(await store.append(step.frames)).toEqual(step.frames.map((one) => model.append(one)));
    } else {
      model.remove(step.run);
      await store.remove([step.run]);
    }
  }
  const summaries = model.runs.map(([id, all]) => ({ run: id, summary: all.at(-1)?.summary }));
  expect(await listed(store.list())).toEqual(summaries);
  for (const [id, all] of model.runs) {
    expect(await listed(readFrames(store, id))).toEqual(all);
    const last = all.at(-1);
    expect(await listed(readFrames(store, id, last?.first))).toEqual([last]);
  }
}

test("JST-1 JST-2 JST-3 the store in memory does what a plain list would do", async () => {
  await fc.assert(fc.asyncProperty(steps, (given) => obeys(memoryStore(), given)));
});

test("JST-1 JST-2 JST-3 the store in a file does what a plain list would do", async () => {
  const path = await folder();
  let files = 0;
  const property = fc.asyncProperty(steps, async (given) => {
    const file = join(path, `${files++}.sqlite`);
    const store = sqliteStore(file);
    try {
      await obeys(store, given);
    } finally {
      await store.close();
    }
    await rm(file);
  });
  await fc.assert(property, { numRuns: inject("exhaustive") ? 40 : 12 });
});

test("JST-1 JST-2 JST-3 the store in Postgres does what a plain list would do", async () => {
  const store = postgresStore(pglite, { prefix: "plain" });
  const property = fc.asyncProperty(steps, async (given) => {
    await store.remove(["a", "b", "c"]);
    await obeys(store, given);
  });
  await fc.assert(property, { numRuns: inject("exhaustive") ? 40 : 12 });
});
