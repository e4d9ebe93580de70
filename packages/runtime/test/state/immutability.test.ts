import { defineEvent, defineSlice, DefinitionError } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { expect, test } from "vitest";
import { z } from "zod";
import { fc, noted, notes, thrownBy } from "./support.ts";

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

test("SES-1 an event that a reducer keeps whole is frozen at every depth, though it came frozen at the surface", () => {
  const kept = defineSlice({
    name: "kept",
    initial: [] as readonly { readonly item: { readonly tags: readonly string[] } }[],
    reducers: ({ on }) => on(chosen, (draft, event) => void draft.push(event as never)),
  });
  const log = defineSlice({
    ...kept,
    name: "log",
    kind: "log",
    reducers: ({ on }) => on(chosen, ({ entries }, event) => [...entries, event]),
  });
  const session = createSession({ slices: [kept, log] });
  session.dispatch(chosen({ item: { tags: ["a"] } }));
  for (const slice of [kept, log]) {
    expect(() => (session.get(slice) as { item: { tags: string[] } }[])[0]?.item.tags.push("x")).toThrow(TypeError);
  }
});

test("SES-1 an initial state that was frozen at the surface is frozen at every depth", () => {
  const slice = defineSlice({ name: "fresh", initial: Object.freeze({ inner: { items: [] as string[] } }) });
  expect(() => createSession().get(slice).inner.items.push("x")).toThrow(TypeError);
});

test("SES-1 a state that holds itself is frozen, and changes like any other", () => {
  const ring: { self?: unknown; count: number } = { count: 0 };
  ring.self = Object.freeze([ring]);
  const slice = defineSlice({
    name: "ring",
    initial: undefined as typeof ring | undefined,
    reducers: ({ on }) => on(noted, (state) => (state === undefined ? ring : { ...state, count: 1 })),
  });
  const session = createSession({ slices: [slice] });
  session.dispatch(noted({ text: "a" }));
  session.dispatch(noted({ text: "b" }));
  expect(session.get(slice)?.count).toBe(1);
  expect(Object.isFrozen(session.get(slice)?.self)).toBe(true);
});

test("SES-1 a reducer that is asynchronous changes nothing, and its rejection ends nothing", async () => {
  const makers = [0, { count: 0 }, [] as unknown[], new Map()].map((initial, index) =>
    defineSlice<unknown>({
      name: `slice ${index}`,
      initial,
      reducers: ({ on }) => on(noted, (async () => Promise.reject(new Error("later"))) as never),
    }),
  );
  const session = createSession({ slices: makers });
  const { errors } = session.dispatch(noted({ text: "a" }));
  expect(errors.map((error) => (error as Error).message)).toEqual(
    makers.map(() => expect.stringContaining("asynchronous")),
  );
  expect(makers.map((slice) => session.get(slice))).toEqual(makers.map(({ initial }) => initial));
  await new Promise((resolve) => setImmediate(resolve));
});

interface Item {
  readonly id: number;
  tags: string[];
}
interface Tree {
  list: Item[];
  byId: Record<string, Item>;
  map: Map<number, Item>;
  latest: Item | undefined;
}
const item: fc.Arbitrary<Item> = fc.record({
  id: fc.nat(5),
  tags: fc.array(fc.constantFrom("a", "b"), { maxLength: 2 }),
});
const changes: Readonly<Record<string, (tree: Tree, given: Item) => void>> = {
  push: ({ list }, given) => void list.push(given),
  removeFirst: ({ list }) => void list.splice(0, 1),
  removeOfId({ list }, { id }) {
    const at = list.findIndex((other) => other.id === id);
    if (at !== -1) list.splice(at, 1);
  },
  tagFound: ({ list }, { id }) => void list.find((other) => other.id === id)?.tags.push("found"),
  tagAll: ({ list }) => list.forEach(({ tags }) => void tags.push("all")),
  sort: ({ list }) => void list.sort((a, b) => a.id - b.id),
  reverse: ({ list }) => void list.reverse(),
  keepOthers: (tree, { id }) => void (tree.list = tree.list.filter((other) => other.id !== id)),
  double: ({ list }) => void list.push(...list.map(({ id, tags }) => ({ id, tags: [...tags] }))),
  index: (tree, given) => void (tree.byId[given.id] = given),
  indexFirst: (tree) => void (tree.list[0] !== undefined && (tree.byId["first"] = tree.list[0])),
  forget: (tree, { id }) => void delete tree.byId[id],
  tagIndexed: (tree, { id }) => void tree.byId[id]?.tags.push("indexed"),
  mapSet: ({ map }, given) => void map.set(given.id, given),
  mapTag: ({ map }, { id }) => void map.get(id)?.tags.push("mapped"),
  mapLatest: (tree) => void (tree.latest !== undefined && tree.map.set(9, tree.latest)),
  remember: (tree, given) => void (tree.latest = given),
};
const change = defineEvent("change", z.object({ how: z.string(), given: z.custom<Item>() }));

/** A copy in which no two places share an object: so it is between the changes of an immutable state. */
const copyOfItem = ({ id, tags }: Item): Item => ({ id, tags: [...tags] });
const copyOf = ({ list, byId, map, latest }: Tree): Tree => ({
  list: list.map(copyOfItem),
  byId: Object.fromEntries(Object.entries(byId).map(([key, each]) => [key, copyOfItem(each)])),
  map: new Map([...map].map(([key, each]) => [key, copyOfItem(each)])),
  latest: latest && copyOfItem(latest),
});
function expectFrozen(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  expect(Object.isFrozen(value)).toBe(true);
  for (const inner of value instanceof Map ? value.values() : Object.values(value)) expectFrozen(inner);
}

test("SES-1 whatever reducers do, the state is what plain data would be, frozen, and what get returned before stays", () => {
  const step = fc.tuple(fc.constantFrom(...Object.keys(changes)), item);
  fc.assert(
    fc.property(fc.array(item, { maxLength: 80 }), fc.array(step, { maxLength: 12 }), (list, steps) => {
      const initial: Tree = { list, byId: {}, map: new Map(), latest: undefined };
      let model = copyOf(initial);
      const tree = defineSlice({
        name: "tree",
        initial,
        reducers: ({ on }) => on(change, (draft, { how, given }) => changes[how]?.(draft, copyOfItem(given))),
      });
      const items = defineSlice({
        name: "items",
        initial: list,
        reducers: ({ on }) =>
          on(change, (draft, { how, given }) => {
            const around: Tree = { list: draft, byId: {}, map: new Map(), latest: undefined };
            changes[how]?.(around, copyOfItem(given));
            return around.list === draft ? undefined : around.list;
          }),
      });
      const session = createSession({ slices: [tree, items] });
      for (const [how, given] of steps) {
        const before = session.get(tree);
        const copy = copyOf(before);
        expect(session.dispatch(change({ how, given }))).toEqual({ ok: true, errors: [] });
        changes[how]?.(model, copyOfItem(given));
        model = copyOf(model);
        expect(session.get(tree)).toEqual(model);
        expect(session.get(items)).toEqual(model.list);
        expectFrozen(session.get(tree));
        expectFrozen(session.get(items));
        expect(before).toEqual(copy);
      }
    }),
  );
});
