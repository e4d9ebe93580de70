import type { Frame, JournalStore } from "@proviso/journal";
import { folderStore, memoryStore, postgresStore, sqliteStore } from "@proviso/journal/internal";
import { DefinitionError } from "@proviso/core";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { pglite } from "./pglite.ts";
import { folder, frame, framesOf, listed } from "./support.ts";

let prefixes = "p";

const makers: readonly (readonly [string, () => Promise<JournalStore>])[] = [
  ["memory", async () => memoryStore()],
  ["folder", async () => folderStore(join(await folder(), "made"))],
  ["sqlite", async () => sqliteStore(join(await folder(), "made", "runs.sqlite"))],
  ["postgres", async () => postgresStore(pglite, { prefix: (prefixes += "p") })],
];

describe.each(makers)("%s", (_name, make) => {
  const opened = async (): Promise<JournalStore> => {
    const store = await make();
    onTestFinished(() => store.close());
    return store;
  };

  test("JST-1 a frame is kept only where its run is exactly as long as the writer believes", async () => {
    const store = await opened();
    expect(await store.append([frame({ first: 1 })])).toEqual(["fenced"]);
    expect(await store.append([frame({ first: 0, count: 3 })])).toEqual(["kept"]);
    const others = [0, 1, 2, 4].map((first) => frame({ first, writer: "two" }));
    expect(await store.append(others)).toEqual(["fenced", "fenced", "fenced", "fenced"]);
    expect(await store.append([frame({ first: 3, writer: "two" })])).toEqual(["kept"]);
    expect(await store.append([frame({ first: 3 })])).toEqual(["fenced"]);
    expect(await framesOf(store, "ada")).toEqual([frame({ first: 0, count: 3 }), frame({ first: 3, writer: "two" })]);
  });

  test("JST-1 frames of one call are taken in order, and a refused one keeps no other back", async () => {
    const store = await opened();
    const given = [
      frame({ first: 0 }),
      frame({ run: "bob", first: 7 }),
      frame({ first: 1, count: 2 }),
      frame({ first: 2 }),
      frame({ run: "bob", first: 0 }),
      frame({ first: 3 }),
    ];
    expect(await store.append(given)).toEqual(["kept", "fenced", "kept", "fenced", "kept", "kept"]);
    expect((await framesOf(store, "ada")).map(({ first }) => first)).toEqual([0, 1, 3]);
    expect(await framesOf(store, "bob")).toEqual([frame({ run: "bob", first: 0 })]);
    expect(await store.append([])).toEqual([]);
  });

  test("JST-2 the same frame again is no conflict and changes nothing", async () => {
    const store = await opened();
    await store.append([frame({ first: 0 }), frame({ first: 1, summary: "newest" }), frame({ run: "bob", first: 0 })]);
    expect(await store.append([frame({ first: 0 }), frame({ first: 1, summary: "other" })])).toEqual(["kept", "kept"]);
    expect(await store.append([frame({ first: 0, writer: "two" })])).toEqual(["fenced"]);
    expect(await store.append([frame({ first: 0, body: "other" })])).toEqual(["fenced"]);
    expect(await framesOf(store, "ada")).toHaveLength(2);
    expect((await listed(store.list())).map(({ run }) => run)).toEqual(["bob", "ada"]);
    expect((await framesOf(store, "ada")).at(-1)?.summary).toBe("newest");
  });

  test("JST-3 a run is read from the frame that holds the entry", async () => {
    const store = await opened();
    // More than one page of the file.
    const all = Array.from({ length: 150 }, (_, n) => frame({ first: n * 3, count: 3 }));
    await store.append(all);
    expect(await framesOf(store, "ada")).toEqual(all);
    for (const from of [0, 1, 2, 3, 200, 447, 449]) {
      expect(await framesOf(store, "ada", from)).toEqual(all.slice(Math.floor(from / 3)));
    }
    expect(await framesOf(store, "ada", 450)).toEqual([]);
    expect(await framesOf(store, "nobody")).toEqual([]);
  });

  test("JST-3 the list has the newest summary of each run, last changed first", async () => {
    const store = await opened();
    for (const run of ["a", "b", "c"]) await store.append([frame({ run, first: 0, summary: `${run}1` })]);
    await store.append([frame({ run: "a", first: 1, summary: "a2" })]);
    expect(await listed(store.list())).toEqual([
      { run: "a", summary: "a2" },
      { run: "c", summary: "c1" },
      { run: "b", summary: "b1" },
    ]);
  });

  test("JST-3 a removed run is gone as a whole, and its writer is refused", async () => {
    const store = await opened();
    await store.append([frame({ first: 0 }), frame({ first: 1 }), frame({ run: "bob", first: 0 })]);
    await store.remove(["ada", "nobody", "ada"]);
    expect(await framesOf(store, "ada")).toEqual([]);
    expect((await listed(store.list())).map(({ run }) => run)).toEqual(["bob"]);
    expect(await store.append([frame({ first: 2 })])).toEqual(["fenced"]);
    expect(await store.append([frame({ first: 0, writer: "two" })])).toEqual(["kept"]);
    expect(await framesOf(store, "ada")).toEqual([frame({ first: 0, writer: "two" })]);
  });

  test("JST-1 JST-3 the writer of a removed run is refused, however long the run is that was begun under its id", async () => {
    const store = await opened();
    const next = (first: number, begunBy: string, writer = begunBy) => frame({ first, begunBy, writer });
    const begun = frame({ first: 0, count: 2 });
    expect(await store.append([begun, next(2, "one"), next(3, "one", "taker")])).toEqual(["kept", "kept", "kept"]);
    await store.remove(["ada"]);
    // As many bytes, too: a store that knows where its run ends has to see that it is another one.
    const others = [frame({ first: 0, count: 2, writer: "two" }), next(2, "two"), next(3, "two", "takes")];
    expect(await store.append(others)).toEqual(["kept", "kept", "kept"]);
    const late = [next(4, "one"), next(4, "one", "taker"), next(4, "two"), next(5, "one", "takes")];
    expect(await store.append(late)).toEqual(["fenced", "fenced", "kept", "fenced"]);
    const bodies = ({ first, writer }: Frame) => [first, writer];
    expect((await framesOf(store, "ada")).map(bodies)).toEqual([
      [0, "two"],
      [2, "two"],
      [3, "takes"],
      [4, "two"],
    ]);
  });

  test.each([
    ["a negative first", { first: -1 }],
    ["a first that is no whole number", { first: 0.5 }],
    ["no entries", { first: 0, count: 0 }],
    ["an end that cannot be counted", { first: Number.MAX_SAFE_INTEGER, count: 1 }],
    ["a sum that is none", { first: 0, sum: 2 ** 32 }],
    ["half of a surrogate pair in the body", { first: 0, body: "\ud83d" }],
    ["a beginning by no text", { first: 1, begunBy: 1 as never }],
    ["a NUL in the summary", { first: 0, summary: "a\0b" }],
    ["an empty id", { first: 0, run: "" }],
    ["an id that is too long", { first: 0, run: "a".repeat(201) }],
    ["a control character in the id", { first: 0, run: "a\nb" }],
    ["half of a surrogate pair in the id", { first: 0, run: "a\ude00" }],
  ])("JST-4 a frame with %s is refused, and nothing of its call is kept", async (_what, wrong) => {
    const store = await opened();
    await expect(store.append([frame({ first: 0 }), frame(wrong)])).rejects.toThrow(DefinitionError);
    expect(await listed(store.list())).toEqual([]);
  });

  test("JST-4 ids and texts come back as they were given", async () => {
    const store = await opened();
    const runs = ["x".repeat(200), "a/b", "A/b", "ä", "a\u0308", "%", "__proto__", "😀"];
    for (const run of runs) await store.append([frame({ run, first: 0, body: `"${run}\u2028'; DROP TABLE runs; --` })]);
    for (const run of runs) {
      expect(await framesOf(store, run)).toEqual([
        frame({ run, first: 0, body: `"${run}\u2028'; DROP TABLE runs; --` }),
      ]);
    }
  });

  test("JRN-10 a run is removed only where its newest summary is still the one that was read", async () => {
    const store = await opened();
    for (const run of ["a", "b", "c"]) await store.append([frame({ run, first: 0 })]);
    const seen = await listed(store.list());
    await store.append([frame({ run: "b", first: 1 })]);
    await store.remove(["c"]);
    expect(await store.removeUnchanged?.([...seen, { run: "nobody", summary: "" }])).toBe(1);
    expect((await listed(store.list())).map(({ run }) => run)).toEqual(["b"]);
    expect(await framesOf(store, "b")).toHaveLength(2);
  });

  test("JRN-7 the frames of a whole run are kept where there is none, all of them or none", async () => {
    const store = await opened();
    const all = Array.from({ length: 80 }, (_, n) => frame({ first: n * 2, count: 2 }));
    expect(await store.appendRun?.(all)).toBe(true);
    expect(await framesOf(store, "ada")).toEqual(all);
    expect(await store.appendRun?.(all)).toBe(false);
    // A run of others that is as long as the beginning of the copied one.
    await store.append([frame({ run: "bob", first: 0, count: 2 })]);
    expect(await store.appendRun?.(all.map((each) => frame({ ...each, run: "bob", sum: undefined as never })))).toBe(
      false,
    );
    expect(await framesOf(store, "bob")).toHaveLength(1);
    const gap = [frame({ run: "eve", first: 0 }), frame({ run: "eve", first: 2 })];
    await expect(store.appendRun?.(gap)).rejects.toThrow(DefinitionError);
    expect(await framesOf(store, "eve")).toEqual([]);
    expect(await store.append([frame({ first: 160 })])).toEqual(["kept"]);
    expect((await listed(store.list())).map(({ run }) => run)).toEqual(["ada", "bob"]);
  });

  test("JST-8 after close every method says so", async () => {
    const store = await opened();
    await store.append([frame({ first: 0 })]);
    await store.close();
    await store.close();
    const closed = { code: "journal", reason: "closed" };
    await expect(store.append([frame({ first: 1 })])).rejects.toMatchObject(closed);
    await expect(framesOf(store, "ada")).rejects.toMatchObject(closed);
    await expect(listed(store.list())).rejects.toMatchObject(closed);
    await expect(store.remove(["ada"])).rejects.toMatchObject(closed);
    await expect(store.removeUnchanged?.([{ run: "ada", summary: "" }])).rejects.toMatchObject(closed);
    await expect(store.appendRun?.([frame({ first: 0 })])).rejects.toMatchObject(closed);
  });
});
