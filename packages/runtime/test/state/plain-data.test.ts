import { runInNewContext } from "node:vm";
import { defineEvent, defineSlice, defineTool, DefinitionError } from "@proviso/core";
import { createSession, restoreSession } from "@proviso/runtime";
import { expect, test } from "vitest";
import { z } from "zod";
import { evaluateCalls, noted, notes, promptOf, thrownBy } from "./support.ts";

const came = defineEvent("came", z.object({ value: z.unknown() }));
class Account {
  total = 0;
}
class Stack extends Array<number> {}
class Index extends Map<string, number> {}

/** All that could be changed in place behind an event's back, with its name in errors. */
const odd: readonly (readonly [string, () => unknown])[] = [
  ["Date", () => new Date(0)],
  ["Uint8Array", () => new Uint8Array(2)],
  ["ArrayBuffer", () => new ArrayBuffer(2)],
  ["RegExp", () => /x/g],
  ["Error", () => new Error("x")],
  ["Promise", () => Promise.resolve()],
  ["WeakMap", () => new WeakMap()],
  ["Account", () => new Account()],
  ["Stack", () => new Stack()],
  ["Index", () => new Index()],
  ["function", () => () => 1],
];
/** Places in a state, and how errors name them. */
const places: readonly (readonly [string, (value: unknown) => unknown])[] = [
  ["it", (value) => value],
  ["at", (value) => ({ at: value })],
  ["list[1].at", (value) => ({ list: [0, { at: value }] })],
  ["byName.one", (value) => ({ byName: new Map([["one", value]]) })],
  ["byName.(a key)", (value) => ({ byName: new Map([[value, 1]]) })],
  ["seen.(an item)", (value) => ({ seen: new Set([value]) })],
  ["Symbol(tag).at", (value) => ({ [Symbol("tag")]: Object.freeze({ at: value }) })],
];

test.each(odd)(
  "SES-5 a state with a %s is refused where a slice is defined, with the slice and the path",
  (name, make) => {
    for (const [path, around] of places) {
      const error = thrownBy(() => defineSlice({ name: "orders", initial: around(make()) }));
      expect(error).toBeInstanceOf(DefinitionError);
      expect(error.message).toMatch(/^The slice "orders" cannot hold this state: /);
      expect(error.message).toContain(`${path} is a ${name}.`);
    }
  },
);

test.each(odd)("SES-5 a reducer whose next state holds a %s fails, and its slice keeps the old state", (name, make) => {
  for (const [path, around] of places) {
    const value = around(make());
    const object = defineSlice({
      name: "object",
      initial: {} as { value?: unknown },
      reducers: ({ on }) => on(came, (draft, event) => void (draft.value = event.value as object)),
    });
    const plain = defineSlice<unknown>({
      name: "plain",
      initial: undefined,
      reducers: ({ on }) => on(came, (_, event) => ({ value: event.value })),
    });
    const log = defineSlice({
      name: "log",
      kind: "log",
      initial: ["first"] as readonly unknown[],
      reducers: ({ on }) => on(came, (draft, event) => draft.push("fine", { value: event.value })),
    });
    const changedLog = defineSlice({
      name: "changed log",
      kind: "log",
      initial: ["first"] as readonly unknown[],
      reducers: ({ on }) => on(came, (_, event) => ["second", { value: event.value }]),
    });
    const slices = [object, plain, log, changedLog];
    const session = createSession({ slices });
    const before = slices.map((slice) => session.get<unknown>(slice));
    const { ok, errors } = session.dispatch(came({ value }));
    expect(ok).toBe(false);
    expect(errors.map((error) => (error as Error).message)).toEqual(
      slices.map((slice) => expect.stringContaining(`"${slice.name}"`)),
    );
    const inner = path === "it" ? "value" : `value.${path}`;
    for (const error of errors) {
      expect(error).toBeInstanceOf(DefinitionError);
      expect((error as Error).message).toContain(`${inner} is a ${name}.`);
    }
    expect(slices.map((slice) => session.get<unknown>(slice))).toEqual(before);
  }
});

test("SES-5 TX-1 a failed call, a restore and a fork share nothing that a reducer could change in place", async () => {
  const marked = defineEvent("marked", z.object({ ms: z.number() }));
  const slice = defineSlice({
    name: "when",
    initial: { byKey: new Map([[{ ms: 0 }, 0]]) },
    reducers: ({ on }) =>
      on(marked, (draft, { ms }) => {
        // Drafts do not reach into the keys of a Map.
        for (const key of draft.byKey.keys()) key.ms = ms;
      }),
  });
  const session = createSession({ slices: [slice] });
  const fork = session.fork();
  const failing = defineTool({
    name: "mark",
    description: "Marks, and fails.",
    input: z.object({}),
    execute(_, context) {
      expect(context.session.dispatch(marked({ ms: 5 })).errors).toEqual([expect.any(TypeError)]);
      throw new Error("no");
    },
  });
  const { toolResults } = await evaluateCalls(promptOf({ tools: [failing] }), [{ name: "mark" }], { session });
  expect(toolResults).toMatchObject([{ result: { success: false, message: "no" } }]);
  const first = (of: typeof session) => [...of.get(slice).byKey.keys()][0]?.ms;
  expect([first(session), first(fork)]).toEqual([0, 0]);
});

test("SES-5 TX-5 a call whose result no state can hold is undone, and the model reads why", async () => {
  const kept = defineSlice({
    name: "kept",
    initial: [] as unknown[],
    reducers: ({ on }) => on("tool.invoked", (draft, { result }) => void (result.success && draft.push(new Date(0)))),
  });
  const session = createSession({ slices: [kept, notes] });
  const write = defineTool({
    name: "write",
    description: "Notes.",
    input: z.object({}),
    execute: (_, context) => void context.session.dispatch(noted({ text: "a" })),
  });
  const { toolResults } = await evaluateCalls(promptOf({ tools: [write] }), [{ name: "write" }], { session });
  expect(toolResults).toMatchObject([
    { result: { success: false, message: expect.stringContaining("[0] is a Date") as unknown } },
  ]);
  expect([session.get(kept), session.get(notes)]).toEqual([[], []]);
});

test("SES-5 what the application keeps of an initial state cannot change the slice", () => {
  const initial = { list: ["a"], byName: new Map([["a", 1]]) };
  const slice = defineSlice({ name: "own", initial });
  expect(() => initial.list.push("b")).toThrow(TypeError);
  expect(() => initial.byName.set("b", 2)).toThrow(TypeError);
  expect(createSession().get(slice)).toEqual({ list: ["a"], byName: new Map([["a", 1]]) });
});

test("SES-5 SES-3 a schema that makes a Date of a saved text cannot bring it into a session", () => {
  const slice = defineSlice({
    name: "dated",
    initial: { at: undefined as unknown },
    schema: z.object({ at: z.any() }),
  });
  const json = JSON.parse(JSON.stringify(createSession({ slices: [slice] }))) as { slices: { state: unknown }[] };
  for (const saved of json.slices) saved.state = { at: "2026-01-01" };
  const dating = defineSlice({
    ...slice,
    reducers: undefined,
    schema: z.object({ at: z.coerce.date().optional() }) as never,
  });
  const error = thrownBy(() => restoreSession(json, { slices: [dating] }));
  expect(error).toBeInstanceOf(DefinitionError);
  expect(error.message).toContain('"dated" cannot hold this state: at is a Date');
});

test("SES-5 what is no JSON and cannot be changed in place may be kept in memory", () => {
  const held = {
    nothing: undefined,
    big: 1n,
    odd: Number.NaN,
    tag: Symbol("tag"),
    bare: Object.assign(Object.create(null) as object, { a: 1 }),
    byName: new Map<unknown, unknown>([["a", new Set([1])]]),
    [Symbol("key")]: { deep: [1] },
  };
  const slice = defineSlice<unknown>({
    name: "held",
    initial: held,
    reducers: ({ on }) => on(came, (_, { value }) => value),
  });
  const session = createSession({ slices: [slice] });
  expect(session.get(slice)).toBe(held);
  expect(session.dispatch(came({ value: { ...held, more: [undefined] } })).ok).toBe(true);
  expect(session.dispatch(came({ value: structuredClone([held.byName, new Set(["x"])]) })).ok).toBe(true);
});

test("SES-5 lists and objects of another realm are plain data, its Map and its instances are not", () => {
  const define = (script: string) => defineSlice<unknown>({ name: "foreign", initial: runInNewContext(script) });
  const { initial } = define("({ list: [{ a: 1 }] })") as { initial: { list: object[] } };
  expect([initial, initial.list, initial.list[0]].every((each) => Object.isFrozen(each))).toBe(true);
  expect(thrownBy(() => define("({ at: new Map() })")).message).toContain("at is a Map.");
  expect(thrownBy(() => define("class A {}; [new A()]")).message).toContain("[0] is a A.");
  expect(thrownBy(() => define("class A {}; Object.setPrototypeOf(A.prototype, null); new A()")).message).toContain(
    "it is a A.",
  );
});

test("SES-5 a circle of many frozen objects is gone round once", () => {
  const ring: { next?: unknown }[] = Array.from({ length: 500 }, () => ({}));
  for (const [index, each] of ring.entries()) each.next = [ring[(index + 1) % ring.length], ring[0]];
  for (const each of ring) Object.freeze(each);
  const slice = defineSlice<unknown>({ name: "ring", initial: ring[0] });
  expect(Object.isFrozen((slice.initial as { next: object }).next)).toBe(true);
});

/** An object with so many levels. */
function nested(levels: number): { readonly a?: unknown } {
  let value: { readonly a?: unknown } = {};
  for (let level = 0; level < levels; level++) value = { a: value };
  return value;
}

test("SES-5 what nests too deep for a state is refused by name: where a slice is defined, by a reducer, and in an event", () => {
  const refusal = 'The slice "deep" cannot hold this state: it nests too deep.';
  const error = thrownBy(() => defineSlice({ name: "deep", initial: nested(20_000) }));
  expect(error).toBeInstanceOf(DefinitionError);
  expect(error.message).toContain(refusal);
  for (const reduce of [() => nested(20_000), (draft: { a?: unknown }) => void (draft.a = nested(20_000))]) {
    const initial: { readonly a?: unknown } = {};
    const deep = defineSlice({ name: "deep", initial, reducers: ({ on }) => on(came, reduce) });
    const session = createSession({ slices: [deep] });
    const { ok, errors } = session.dispatch(came({ value: 1 }));
    expect([ok, session.get(deep)]).toEqual([false, initial]);
    expect(errors[0]).toBeInstanceOf(DefinitionError);
    expect((errors[0] as Error).message).toContain(refusal);
  }
  const event = thrownBy(() => createSession().dispatch(came({ value: nested(20_000) })));
  expect(event.message).toBe('The event "came" cannot be frozen: it nests too deep.');
});
