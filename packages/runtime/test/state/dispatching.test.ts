import { defineSlice, defineTool, DefinitionError } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { expect, test } from "vitest";
import { z } from "zod";
import { evaluateCalls, noted, notes, promptOf } from "./support.ts";

const noop = defineTool({ name: "noop", description: "Nothing.", input: z.object({}), execute: () => undefined });

test("EVT-1 reducers run in the order of their registration, before every listener", () => {
  const order: string[] = [];
  const recording = (name: string) =>
    defineSlice({
      name,
      initial: 0,
      reducers: ({ on }) => {
        on(noted, () => void order.push(`${name} first`));
        on(noted, () => void order.push(`${name} second`));
      },
    });
  const session = createSession({ slices: [recording("b"), recording("a")] });
  session.on(noted, () => order.push("listener"));
  session.dispatch(noted({ text: "x" }));
  expect(order).toEqual(["b first", "b second", "a first", "a second", "listener"]);
});

test("EVT-1 reducers of an event and of its tool run in the order of their registration", async () => {
  const order: string[] = [];
  const recording = (name: string) =>
    defineSlice({
      name,
      initial: 0,
      reducers: ({ on }) => {
        on(noop, () => void order.push(`${name} by tool`));
        on("tool.invoked", () => void order.push(`${name} by type`));
      },
    });
  const slices = [recording("a"), recording("b")];
  await evaluateCalls(promptOf({ tools: [noop], slices }), [{ name: "noop" }]);
  expect(order).toEqual(["a by tool", "a by type", "b by tool", "b by type"]);
});

test("EVT-1 listeners run in the order of their subscription, whatever they filter by", async () => {
  const session = createSession();
  const order: string[] = [];
  session.on(noop, () => order.push("tool 1"));
  session.on("*", ({ type }) => void (type === "tool.invoked" && order.push("all 2")));
  session.on("tool.invoked", () => order.push("type 3"));
  const end = session.on("tool.invoked", () => order.push("ended"));
  session.on(noop, () => order.push("tool 4"));
  session.on("*", ({ type }) => void (type === "tool.invoked" && order.push("all 5")));
  end();
  await evaluateCalls(promptOf({ tools: [noop] }), [{ name: "noop" }], { session });
  expect(order).toEqual(["tool 1", "all 2", "type 3", "tool 4", "all 5"]);
});

test("EVT-1 a listener receives only what its filter names", async () => {
  const session = createSession();
  const heard: string[] = [];
  const other = defineTool({ ...noop, name: "other" });
  session.on(other, ({ name }) => heard.push(name));
  session.on(noted, ({ text }) => heard.push(text));
  await evaluateCalls(promptOf({ tools: [noop, other] }), [{ name: "noop" }, { name: "other" }], { session });
  session.dispatch({ type: "something" });
  session.dispatch(noted({ text: "a" }));
  expect(heard).toEqual(["other", "a"]);
});

test("EVT-1 the same listener can subscribe twice, and ends one subscription at a time", () => {
  const session = createSession();
  let heard = 0;
  const listener = () => void (heard += 1);
  const end = session.on(noted, listener);
  session.on(noted, listener);
  session.dispatch(noted({ text: "a" }));
  expect(heard).toBe(2);
  end();
  end();
  session.dispatch(noted({ text: "b" }));
  expect(heard).toBe(3);
});

test("EVT-1 a reducer that throws leaves its slice as it was, stops no other slice and no listener, and is reported", () => {
  const failing = new Error("reducer");
  const broken = defineSlice({
    name: "broken",
    initial: [] as readonly string[],
    reducers: ({ on }) =>
      on(noted, (draft) => {
        draft.push("half");
        throw failing;
      }),
  });
  const session = createSession({ slices: [broken, notes] });
  const heard: string[] = [];
  session.on(noted, ({ text }) => heard.push(text));
  expect(session.dispatch(noted({ text: "a" }))).toEqual({ ok: false, errors: [failing] });
  expect([session.get(broken), session.get(notes), heard]).toEqual([[], ["a"], ["a"]]);
});

test("EVT-1 of two reducers of one slice the second runs though the first threw", () => {
  const slice = defineSlice({
    name: "both",
    initial: [] as readonly string[],
    reducers: ({ on }) => {
      on(noted, () => {
        throw new Error("first");
      });
      on(noted, (draft, { text }) => void draft.push(text));
    },
  });
  const session = createSession({ slices: [slice] });
  const { ok, errors } = session.dispatch(noted({ text: "a" }));
  expect([ok, errors.map((error) => (error as Error).message)]).toEqual([false, ["first"]]);
  expect(session.get(slice)).toEqual(["a"]);
});

test("EVT-1 a listener that throws stops no other, and all errors are in the result, reducers' first", () => {
  const slice = defineSlice({
    name: "throws",
    initial: 0,
    reducers: ({ on }) =>
      on(noted, () => {
        throw "reducer";
      }),
  });
  const session = createSession({ slices: [slice, notes] });
  const heard: string[] = [];
  session.on("*", () => {
    throw "one";
  });
  session.on(noted, () => heard.push("two"));
  session.on(noted, () => {
    throw "three";
  });
  session.on("*", () => heard.push("four"));
  expect(session.dispatch(noted({ text: "a" }))).toEqual({ ok: false, errors: ["reducer", "one", "three"] });
  expect([session.get(notes), heard]).toEqual([["a"], ["two", "four"]]);
});

test("EVT-1 a listener that rejects later ends nothing", async () => {
  const session = createSession();
  session.on(noted, (async () => {
    throw new Error("later");
  }) as () => void);
  expect(session.dispatch(noted({ text: "a" }))).toEqual({ ok: true, errors: [] });
  await new Promise((resolve) => setImmediate(resolve));
});

test("EVT-1 an event that a listener dispatches is delivered when all have received the one before, whose state they see", () => {
  const session = createSession({ slices: [notes] });
  const heard: string[] = [];
  const hearing = (who: string) => (event: { readonly type: string; readonly text?: string }) =>
    void heard.push(`${who} ${event.text} of ${session.get(notes).length}`);
  session.on("*", hearing("first") as never);
  const results: boolean[] = [];
  session.on(noted, ({ text }) => {
    if (text.length < 3) results.push(session.dispatch(noted({ text: `${text}+` })).ok);
  });
  session.on(noted, ({ text }) => {
    if (text === "a++") throw new Error("last");
  });
  session.on("*", hearing("last") as never);
  expect(session.dispatch(noted({ text: "a" }))).toEqual({ ok: true, errors: [] });
  expect(heard).toEqual([
    "first a of 1",
    "last a of 1",
    "first a+ of 2",
    "last a+ of 2",
    "first a++ of 3",
    "last a++ of 3",
  ]);
  expect(results).toEqual([false, true]);
});

test("EVT-1 the errors of listeners that receive an event late are in its own result", () => {
  const session = createSession();
  const inner: unknown[] = [];
  session.on(noted, ({ text }) => {
    if (text === "outer") inner.push(...session.dispatch(noted({ text: "inner" })).errors);
  });
  session.on(noted, ({ text }) => {
    throw text;
  });
  expect(session.dispatch(noted({ text: "outer" })).errors).toEqual(["outer"]);
  expect(inner).toEqual(["inner"]);
});

test.each(["*", "tool:noop", "tool.invoked"])("EVT-1 an application cannot dispatch %s", (type) => {
  const session = createSession();
  const heard: string[] = [];
  session.on("*", (event) => heard.push(event.type));
  session.on(noop, () => heard.push("tool"));
  expect(() => session.dispatch({ type })).toThrow(DefinitionError);
  expect(heard).toEqual([]);
});

test("EVT-1 an event without reducers and listeners is dispatched without errors", () => {
  expect(createSession().dispatch({ type: "unknown" })).toEqual({ ok: true, errors: [] });
});

test("EVT-1 a reducer of a tool receives a call that was not run, too", async () => {
  const reduced: boolean[] = [];
  const slice = defineSlice({
    name: "calls",
    initial: 0,
    reducers: ({ on }) => on(noop, (_, { result }) => void reduced.push(result.success)),
  });
  await evaluateCalls(promptOf({ tools: [noop], slices: [slice] }), [
    { name: "noop" },
    { name: "noop", arguments: { unknown: 1 } },
  ]);
  expect(reduced).toEqual([true, false]);
});
