import { defineEvent, defineSlice, DefinitionError, type LogDraft } from "@proviso/core";
import { append, createSession, upsertBy } from "@proviso/runtime";
import { expect, test } from "vitest";
import { z } from "zod";
import { fc, noted } from "./support.ts";

const changed = defineEvent("changed", z.object({ how: z.unknown() }));

/** A log of texts whose reducer does this. */
function logOf(
  reduce: (draft: LogDraft<string>, text: string) => readonly string[] | void,
  initial: readonly string[] = [],
) {
  const log = defineSlice({
    name: "log",
    kind: "log",
    initial,
    reducers: ({ on }) => on(noted, (draft, { text }) => reduce(draft, text)),
  });
  const session = createSession({ slices: [log] });
  return {
    session,
    get: () => session.get(log),
    note: (text: string) => session.dispatch(noted({ text })).errors.map(String),
  };
}

test("SES-1 a draft of a log that is kept changes nothing after its reducer has ended", () => {
  let kept: LogDraft<string> | undefined;
  const { get, note } = logOf((draft, text) => {
    kept = draft;
    draft.push(text);
  });
  note("a");
  expect(() => kept?.push("late")).toThrow(/after its reducer has ended/);
  expect(() => kept && append(kept, "late")).toThrow(/after its reducer has ended/);
  expect(() => kept?.entries).toThrow(/after its reducer has ended/);
  note("b");
  expect(get()).toEqual(["a", "b"]);
});

test("SES-7 whatever else lists have, the draft of a log refuses it with its slice and what there is instead", () => {
  const names = Reflect.ownKeys(Array.prototype).filter(
    (name) => !(name in {}) && name !== "push" && name !== "entries",
  );
  type Use = (draft: Record<string | symbol, unknown>) => unknown;
  let use: Use = () => {};
  const { session, get } = logOf((draft, text) => {
    draft.push(text);
    use(draft as never);
  });
  const errors = (): readonly unknown[] => session.dispatch(noted({ text: "a" })).errors;
  expect(names).toEqual(expect.arrayContaining(["length", "map", "splice", Symbol.iterator]));
  for (const name of names) {
    for (use of [(draft) => draft[name], (draft) => (draft[name] = 1)] satisfies Use[]) {
      const [error] = errors();
      expect(error).toBeInstanceOf(DefinitionError);
      expect(String(error)).toContain(`the log slice "log" has no "${String(name)}"`);
      expect(String(error)).toContain("draft.push(entry)");
    }
  }
  for (use of [(draft) => (draft[0] = "b"), (draft) => (draft["entries"] = [])] satisfies Use[]) {
    expect(errors()[0]).toBeInstanceOf(TypeError);
  }
  expect(get()).toEqual([]);
});

test("SES-1 entries of a log are frozen at every depth, and cannot be changed in place", () => {
  const log = defineSlice({
    name: "log",
    kind: "log",
    initial: [{ tags: ["first"] }] as readonly { readonly tags: readonly string[] }[],
    reducers: ({ on }) => {
      on(noted, (draft, { text }) => draft.push({ tags: [text] }));
      on(changed, ({ entries }) => void (entries as { tags: string[] }[])[0]?.tags.push("changed"));
    },
  });
  const session = createSession({ slices: [log] });
  session.dispatch(noted({ text: "a" }));
  expect(session.dispatch(changed({ how: 1 })).errors[0]).toBeInstanceOf(TypeError);
  expect(() => (session.get(log) as { tags: string[] }[])[1]?.tags.push("x")).toThrow(TypeError);
  expect(session.get(log)).toEqual([{ tags: ["first"] }, { tags: ["a"] }]);
});

test("SES-7 append records in the draft of a log, and entries shows what was recorded so far", () => {
  const seen: (readonly string[])[] = [];
  const { get, note } = logOf(
    (draft, text) => {
      seen.push(draft.entries);
      append(draft, text);
      draft.push("more", "yet more");
      seen.push(draft.entries);
    },
    ["first"],
  );
  expect(note("a")).toEqual([]);
  expect(get()).toEqual(["first", "a", "more", "yet more"]);
  expect(seen).toEqual([["first"], ["first", "a", "more", "yet more"]]);
  expect(seen.every(Object.isFrozen)).toBe(true);
});

test("SES-1 what get returned for a log stays as it was, whatever happens to the log later", () => {
  const { get, note } = logOf((draft, text) => {
    if (text === "cut") return draft.entries.slice(0, 1);
    draft.push(text);
    return undefined;
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

test("SES-7 a log keeps what its reducers push, and becomes the list that one returns", () => {
  const item = fc.constantFrom("a", "b", "c");
  const items = fc.array(item, { maxLength: 3 });
  const round = fc.record({
    pushed: fc.array(items, { maxLength: 3 }),
    returned: fc.option(items),
    throws: fc.boolean(),
  });
  fc.assert(
    fc.property(items, fc.array(round, { maxLength: 8 }), (initial, rounds) => {
      let model: readonly string[] = initial;
      let current: (typeof rounds)[number] | undefined;
      const seen: (readonly string[])[] = [];
      const { get, note } = logOf((draft) => {
        for (const each of current?.pushed ?? []) {
          draft.push(...each);
          seen.push(draft.entries);
        }
        if (current?.throws === true) throw new Error("no");
        return current?.returned ?? undefined;
      }, initial);
      for (current of rounds) {
        const { pushed, returned, throws } = current;
        const [before, copy] = [get(), [...get()]];
        seen.length = 0;
        expect(note("x")).toHaveLength(throws ? 1 : 0);
        expect(seen).toEqual(pushed.map((_, at) => [...model, ...pushed.slice(0, at + 1).flat()]));
        if (!throws) model = returned ?? [...model, ...pushed.flat()];
        expect(get()).toEqual(model);
        expect(before).toEqual(copy);
      }
    }),
  );
});

test("SES-7 upsertBy replaces an entry of a log, given the draft's entries", () => {
  const { get, note } = logOf((draft, text) => upsertBy((entry: string) => entry[0])(draft.entries, text));
  for (const text of ["a1", "b1", "a2", "c1"]) expect(note(text)).toEqual([]);
  expect(get()).toEqual(["a2", "b1", "c1"]);
});

test("SES-4 a fork's log and its origin's go their own ways", () => {
  const { session, get, note } = logOf((draft, text) => draft.push(text));
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
