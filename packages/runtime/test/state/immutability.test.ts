import { defineEvent, defineSlice, DefinitionError } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { expect, test } from "vitest";
import { z } from "zod";
import { noted, notes, thrownBy } from "./support.ts";

const chosen = defineEvent("chosen", z.object({ item: z.object({ tags: z.array(z.string()) }) }));

test("SES-1 get returns the same reference until an event changes the slice", () => {
  const session = createSession({ slices: [notes] });
  const before = session.get(notes);
  session.dispatch({ type: "something.else" });
  expect(session.get(notes)).toBe(before);
  session.dispatch(noted({ text: "a" }));
  expect(session.get(notes)).not.toBe(before);
  expect(before).toEqual([]);
  expect(session.get(notes)).toBe(session.get(notes));
});

test("SES-1 the initial state cannot be changed through what get returns", () => {
  const slice = defineSlice({ name: "fresh", initial: { inner: { items: [] as string[] } } });
  const session = createSession({ slices: [slice] });
  expect(() => session.get(slice).inner.items.push("x")).toThrow(TypeError);
  expect(createSession({ slices: [slice] }).get(slice)).toEqual({ inner: { items: [] } });
});

test("SES-1 a state that a reducer made is frozen at every depth, the payload it took in included", () => {
  const slice = defineSlice({
    name: "choice",
    initial: { item: undefined as { tags: string[] } | undefined },
    reducers: ({ on }) => on(chosen, (draft, { item }) => void (draft.item = item)),
  });
  const session = createSession({ slices: [slice] });
  session.dispatch(chosen({ item: { tags: ["a"] } }));
  expect(() => session.get(slice).item?.tags.push("x")).toThrow(TypeError);
  expect(() => ((session.get(slice) as { item: unknown }).item = 1)).toThrow(TypeError);
});

test("SES-1 a state that was null before is frozen too", () => {
  const slice = defineSlice({
    name: "later",
    initial: null as { tags: string[] } | null,
    reducers: ({ on }) => on(chosen, (_, { item }) => ({ tags: [...item.tags] })),
  });
  const session = createSession({ slices: [slice] });
  session.dispatch(chosen({ item: { tags: ["a"] } }));
  expect(session.get(slice)).toEqual({ tags: ["a"] });
  expect(() => session.get(slice)?.tags.push("x")).toThrow(TypeError);
});

test("SES-1 maps and sets are states as well, and as immutable", () => {
  const slice = defineSlice({
    name: "maps",
    initial: { byText: new Map<string, number>(), seen: new Set<string>() },
    reducers: ({ on }) =>
      on(noted, (draft, { text }) => {
        draft.byText.set(text, (draft.byText.get(text) ?? 0) + 1);
        draft.seen.add(text);
      }),
  });
  const session = createSession({ slices: [slice] });
  const before = session.get(slice);
  session.dispatch(noted({ text: "a" }));
  session.dispatch(noted({ text: "a" }));
  expect(session.get(slice)).toEqual({ byText: new Map([["a", 2]]), seen: new Set(["a"]) });
  expect(before.byText.size).toBe(0);
  expect(() => session.get(slice).byText.clear()).toThrow();
});

test("SES-1 a slice that the session has not met answers with its initial state", () => {
  expect(createSession().get(notes)).toEqual([]);
});

test("SES-1 a framework event or one without a type cannot be dispatched by an application", () => {
  const session = createSession({ slices: [notes] });
  expect(thrownBy(() => session.dispatch({ type: "tool.invoked" }))).toBeInstanceOf(DefinitionError);
  expect(thrownBy(() => session.dispatch({ type: "" }))).toBeInstanceOf(DefinitionError);
  expect(thrownBy(() => session.dispatch(undefined as never))).toBeInstanceOf(DefinitionError);
});
