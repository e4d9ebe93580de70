// A frame with a right sum may hold anything, when another program wrote it: every reader works, or says that the record of
// that run is damaged, and shows the other runs.
import { ProvisoError, type RunRecord } from "@proviso/core";
import { createJournal, type Frame, type Journal } from "@proviso/journal";
import { bodyOf, folderStore, frameSum, memoryStore } from "@proviso/journal/internal";
import { journalRuns } from "@proviso/viewer";
import { compareRuns, limitsAt, runRows, stateAt } from "@proviso/viewer/runs";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { everyKind } from "./every-kind.ts";

const golden = join(import.meta.dirname, "../../journal/test/golden/records");

async function listed<T>(from: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of from) all.push(one);
  return all;
}

/** The frames of recorded runs, and of one with an entry of each kind and an event of each type. */
async function records(): Promise<readonly (readonly Frame[])[]> {
  const all: Frame[][] = [];
  for (const release of readdirSync(golden)) {
    const store = folderStore(join(golden, release));
    for await (const { run } of store.list()) all.push(await listed(store.read(run)));
  }
  const entries = everyKind();
  const of = { run: "every", first: 0, count: entries.length, body: bodyOf(1, entries) };
  all.push([{ ...of, writer: "one", sum: frameSum(of), summary: all[0]?.[0]?.summary ?? "" }]);
  return all;
}

type Path = readonly (string | number)[];

function* pathsIn(value: unknown, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path;
  if (typeof value !== "object" || value === null) return;
  for (const [name, part] of Object.entries(value)) yield* pathsIn(part, [...path, name]);
}

/** The value with another one at a path. */
function changed(value: unknown, [name, ...rest]: Path, to: unknown): unknown {
  if (name === undefined) return to;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>;
  copy[name] = changed(copy[name], rest, to);
  return copy;
}

async function read(journal: Journal, run: string): Promise<void> {
  const reader = journalRuns(journal);
  const { runs } = await reader.list();
  expect(runs.map(({ runId }) => runId).toSorted()).toEqual([run, "another"].toSorted());
  const all: RunRecord[] = await listed(reader.records(run));
  const rows = runRows();
  for (const record of all) rows.add(record);
  compareRuns(all, all);
  limitsAt(all, Infinity);
  await stateAt(reader, run, Infinity);
  const isDamaged = all.some(({ kind }) => kind === "unreadable");
  const one = runs.find(({ runId }) => runId === run);
  if (isDamaged) expect(one?.error).toMatchObject({ code: "journal" });
}

/** What a journal itself reads is there, or "damaged". */
async function describe(journal: Journal, run: string): Promise<void> {
  const reads = [
    () => journal.describe(run),
    () => listed(journal.entries(run)),
    () => journal.session(run, { slices: [] }),
    () => listed(journal.list()),
  ];
  for (const read of reads) {
    await read().catch((error: unknown) => {
      // Slices that do not fit are refused.
      expect(error).toBeInstanceOf(ProvisoError);
    });
  }
}

/** What is as it was written is not damaged. */
async function readAll(all: readonly (readonly Frame[])[]): Promise<void> {
  for (const frames of all) {
    const store = memoryStore();
    await store.append(frames);
    const { run } = frames[0] as Frame;
    const records = await listed(journalRuns(createJournal(store)).records(run));
    expect(records.filter(({ kind }) => kind === "unreadable")).toEqual([]);
  }
}

const values = [null, 0, -5, "x", [], {}, [null], "__proto__"];

it("JRN-8 VIEW-5 a value of another form anywhere in a record is damage of that run, whatever reads it", async () => {
  const another = memoryStore();
  await modelAdapter(scriptedModel([{ text: "Yes." }])).evaluate("Are you there?", {
    run: createJournal(another).run("another"),
  });
  const others = await listed(another.read("another"));
  // Every so many of the changes: a prime number, so that all values and places have their turn.
  const every = inject("exhaustive") ? 1 : 101;
  let count = 0;
  await readAll(await records());
  for (const frames of await records()) {
    const { run } = frames[0] as Frame;
    for (const [place, frame] of frames.entries()) {
      const body: unknown = JSON.parse(frame.body);
      for (const path of pathsIn(body)) {
        for (const value of values) {
          if (count++ % every !== 0) continue;
          const other = { ...frame, body: JSON.stringify(changed(body, path, value)) };
          const store = memoryStore();
          await store.append(frames.map((each, at) => (at === place ? { ...other, sum: frameSum(other) } : each)));
          await store.append(others);
          const journal = createJournal(store);
          const what = `${run}, frame ${place}, ${path.join(".")} = ${JSON.stringify(value)}`;
          await describe(journal, run)
            .then(() => read(journal, run))
            .catch((error: unknown) => {
              throw new Error(`${what}: ${(error as Error).stack}`, { cause: error });
            });
        }
      }
    }
  }
  expect(count).toBeGreaterThan(10_000);
});

it("VIEW-5 a run of a journal of one's own whose entries are of another form is a row that says so, beside the others", async () => {
  const journal = createJournal(memoryStore());
  for (const id of ["good", "odd"]) {
    await modelAdapter(scriptedModel([{ text: "Yes." }])).evaluate("Are you there?", { run: journal.run(id) });
  }
  const own: Journal = {
    ...journal,
    async *entries(id) {
      for await (const entry of journal.entries(id)) {
        const isOdd = id === "odd" && entry.kind === "event";
        yield isOdd && entry.event.type === "prompt.rendered"
          ? { ...entry, event: { ...entry.event, sections: null as never } }
          : isOdd && entry.event.type === "prompt.executed"
            ? { ...entry, event: null as never }
            : entry;
      }
    },
  };
  const reader = journalRuns(own);
  const { runs } = await reader.list();
  expect(Object.fromEntries(runs.map(({ runId, error }) => [runId, error?.code]))).toEqual({
    good: undefined,
    odd: "journal",
  });
  expect(runs.find(({ runId }) => runId === "odd")?.error?.message).toContain(
    'The record of the run "odd" cannot be shown',
  );
});
