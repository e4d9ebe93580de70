import { defineEvent, defineSlice } from "@proviso/core";
import { append, createSession, upsertBy } from "@proviso/runtime";
import { expect, test } from "vitest";
import { z } from "zod";
import { fc, noted } from "./support.ts";

const changed = defineEvent("changed", z.object({ how: z.unknown() }));

/** A log of texts whose reducer does this. */
function logOf(reduce: (draft: string[], text: string) => readonly string[] | void, initial: readonly string[] = []) {
  const log = defineSlice({
    name: "log",
    kind: "log",
    initial,
    reducers: ({ on }) => on(noted, (draft, { text }) => reduce(draft, text) as string[] | undefined),
  });
  const session = createSession({ slices: [log] });
  return {
    session,
    get: () => session.get(log),
    note: (text: string) => session.dispatch(noted({ text })).errors.map(String),
  };
}

test("SES-1 a draft of a log that is kept changes nothing after its reducer has ended", () => {
  let kept: string[] = [];
  const { get, note } = logOf((draft, text) => {
    kept = draft;
    draft.push(text);
  });
  note("a");
  expect(() => kept.push("late")).toThrow(/after its reducer has ended/);
  expect(() => append(kept, "late")).toThrow(/after its reducer has ended/);
  expect(() => kept.length).toThrow(/after its reducer has ended/);
  note("b");
  expect(get()).toEqual(["a", "b"]);
});

test("SES-1 a draft of a log cannot be frozen, and the log goes on", () => {
  let freezes = true;
  const { get, note } = logOf((draft, text) => {
    draft.push(text);
    if (freezes) Object.freeze(draft);
  });
  expect(note("a")).toHaveLength(1);
  freezes = false;
  expect(note("b")).toEqual([]);
  expect(get()).toEqual(["b"]);
});

test("SES-1 entries of a log are frozen at every depth, and cannot be changed in place", () => {
  const log = defineSlice({
    name: "log",
    kind: "log",
    initial: [{ tags: ["first"] }] as readonly { readonly tags: readonly string[] }[],
    reducers: ({ on }) => {
      on(noted, (draft, { text }) => void draft.push({ tags: [text] }));
      on(changed, (draft) => void draft[0]?.tags.push("changed"));
    },
  });
  const session = createSession({ slices: [log] });
  session.dispatch(noted({ text: "a" }));
  expect(session.dispatch(changed({ how: 1 })).errors[0]).toBeInstanceOf(TypeError);
  expect(() => (session.get(log) as { tags: string[] }[])[1]?.tags.push("x")).toThrow(TypeError);
  expect(session.get(log)).toEqual([{ tags: ["first"] }, { tags: ["a"] }]);
});

test("SES-1 append leaves the list it was given, in a log too", () => {
  const { get, note } = logOf(
    (draft, text) => {
      const longer = append(append(draft, text), "more");
      expect([draft.length, longer.length]).toEqual([1, 3]);
      return text === "drop" ? undefined : longer;
    },
    ["first"],
  );
  expect(note("drop")).toEqual([]);
  expect(get()).toEqual(["first"]);
  expect(note("a")).toEqual([]);
  expect(get()).toEqual(["first", "a", "more"]);
});

test("SES-1 what get returned for a log stays as it was, whatever happens to the log later", () => {
  const { get, note } = logOf((draft, text) => {
    if (text === "cut") draft.length = 1;
    else draft.push(text);
  });
  const views: (readonly string[])[] = [];
  for (const text of ["a", "b", "cut", "c", "d"]) {
    note(text);
    views.push(get());
    expect(get()).toBe(get());
  }
  expect(views).toEqual([["a"], ["a", "b"], ["a"], ["a", "c"], ["a", "c", "d"]]);
  expect(views.every((view) => Array.isArray(view) && Object.isFrozen(view))).toBe(true);
  expect([JSON.stringify(views[1]), [...(views[1] ?? [])].map((text) => text + text)]).toEqual([
    '["a","b"]',
    ["aa", "bb"],
  ]);
});

test("EVT-1 a log's reducer that is asynchronous or returns no list is refused, and the log stays", async () => {
  const { get, note } = logOf((draft, text) => {
    if (text === "async") return Promise.reject(new Error("later")) as never;
    if (text === "number") return 5 as never;
    if (text === "null") return null as never;
    draft.push(text);
    return undefined;
  });
  expect(note("async").join()).toContain("asynchronous");
  expect(note("number").join()).toContain("list");
  expect(note("null").join()).toContain("list");
  expect(note("a")).toEqual([]);
  expect(get()).toEqual(["a"]);
  await new Promise((resolve) => setImmediate(resolve));
});

test("SES-1 a draft of a log reads and changes like a list of its own", () => {
  const item = fc.constantFrom("a", "b", "c");
  const at = fc.integer({ min: -2, max: 6 });
  const change = fc.oneof(
    fc.record({ push: fc.array(item, { maxLength: 2 }) }),
    fc.record({ splice: fc.tuple(at, fc.nat(3), item) }),
    fc.record({ put: fc.tuple(fc.nat(6), item) }),
    fc.record({ length: fc.nat(6) }),
    fc.constantFrom("pop", "shift", "sort", "reverse", "unshift", "fill"),
  );
  type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;
  const perform = (list: string[], taken: Change): unknown => {
    if (typeof taken === "string") {
      if (taken === "unshift") return list.unshift("u");
      if (taken === "fill") return list.fill("f", 1).length;
      const returned: unknown = list[taken as "pop" | "shift" | "sort" | "reverse"]();
      return Array.isArray(returned) ? returned.length : returned;
    }
    if ("push" in taken) return list.push(...taken.push);
    if ("splice" in taken) return list.splice(taken.splice[0], taken.splice[1], taken.splice[2]);
    if ("put" in taken) list[Math.min(taken.put[0], list.length)] = taken.put[1];
    if ("length" in taken) list.length = Math.min(taken.length, list.length);
    return undefined;
  };
  const look = (list: readonly string[]): unknown => [
    list.length,
    [...list],
    Object.entries(list),
    JSON.stringify(list),
    list.at(-1),
    list.indexOf("b"),
    list.includes("c"),
    list.findLast((text) => text !== "a"),
    list.filter((text, index) => text !== "a" || index === 0),
    list.map((text) => text + text),
    list.reduce((all, text) => all + text, ""),
    list.slice(1, -1),
    list.concat(["x"]),
    list.some((text) => text === "u"),
    1 in list,
    list.toSorted(),
    list.join("-"),
    Array.isArray(list),
  ];
  fc.assert(
    fc.property(fc.array(item), fc.array(fc.array(change, { maxLength: 4 }), { maxLength: 5 }), (initial, rounds) => {
      const model = [...initial];
      let round: readonly Change[] = [];
      let told: unknown[] = [];
      const { get, note } = logOf((draft) => {
        told = round.map((each) => [perform(draft, each), look(draft)]);
      }, initial);
      for (round of rounds) {
        const before = get();
        const copy = [...before];
        expect(note("x")).toEqual([]);
        expect(told).toEqual(round.map((each) => [perform(model, each), look(model)]));
        expect(get()).toEqual(model);
        expect(before).toEqual(copy);
      }
    }),
  );
});

test("SES-1 upsertBy replaces in a log too", () => {
  const { get, note } = logOf((draft, text) => upsertBy((entry: string) => entry[0])(draft, text));
  for (const text of ["a1", "b1", "a2", "c1"]) expect(note(text)).toEqual([]);
  expect(get()).toEqual(["a2", "b1", "c1"]);
});

test("SES-4 a fork's log and its origin's go their own ways", () => {
  const { session, get, note } = logOf((draft, text) => void draft.push(text));
  const log = defineSlice({ name: "unused", initial: 0 });
  note("a");
  const fork = session.fork();
  const forks = () => (JSON.parse(JSON.stringify(fork)) as { slices: { state: unknown }[] }).slices[0]?.state;
  fork.dispatch(noted({ text: "fork" }));
  note("b");
  expect([get(), forks()]).toEqual([
    ["a", "b"],
    ["a", "fork"],
  ]);
  expect(fork.get(log)).toBe(0);
});
