import { defineSlice, defineTool, type SessionEvent } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { recordEvents } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { evaluateCalls, journal, noted, notes, promptOf, toolMessages, world, write, writing } from "./support.ts";

const outcomes = (kind: "state" | "log") =>
  defineSlice({
    name: `outcomes ${kind}`,
    kind,
    initial: [] as readonly boolean[],
    reducers: ({ on }) => on("tool.invoked", (draft, { result }) => void draft.push(result.success)),
  });

test("TX-5 listeners that throw on tool.invoked undo the call; the model reads why and not the value", async () => {
  const { session, resources, digest } = world();
  const before = await digest();
  for (const why of ["first", "second"]) {
    session.on(write, ({ result }) => {
      if (result.success) throw new Error(why);
    });
  }
  const { messages, toolResults } = await evaluateCalls(promptOf({ tools: [write] }), [writing("a")], {
    session,
    resources,
  });
  expect(await digest()).toEqual(before);
  const message = "The call of write could not be recorded: first; second";
  expect(toolMessages(messages)).toMatchObject([{ text: message, isError: true }]);
  expect(toolResults.map(({ result }) => result)).toEqual([{ success: false, message }]);
});

test("TX-5 a reducer that throws on tool.invoked undoes the call as well", async () => {
  const { session, resources, digest } = world();
  const before = await digest();
  const strict = defineSlice({
    name: "strict",
    initial: 0,
    reducers: ({ on }) =>
      on(write, (count, { result }) => {
        if (result.success) throw new Error("full");
        return count + 1;
      }),
  });
  const { toolResults } = await evaluateCalls(promptOf({ tools: [write], slices: [notes, strict] }), [writing("a")], {
    session,
    resources,
  });
  expect(await digest()).toEqual(before);
  expect(session.get(strict)).toBe(1);
  expect(toolResults[0]?.result.success).toBe(false);
});

test("TX-5 the vetoed event enters no slice, a second one with the failed result enters all", async () => {
  const [state, log] = [outcomes("state"), outcomes("log")];
  const { session, resources } = world();
  const events = recordEvents(session);
  session.on("tool.invoked", ({ result }) => {
    if (result.success) throw new Error("veto");
  });
  await evaluateCalls(promptOf({ tools: [write], slices: [notes, state, log] }), [writing("a")], {
    session,
    resources,
  });
  expect([session.get(state), session.get(log)]).toEqual([[false], [false]]);
  const invoked = events.filter((event) => event.type === "tool.invoked");
  expect(invoked.map((event) => "result" in event && event.result.success)).toEqual([true, false]);
});

test("TX-5 a listener that throws on the second event too changes nothing more", async () => {
  const { session, resources, digest } = world();
  const before = await digest();
  session.on("tool.invoked", () => {
    throw new Error("always");
  });
  const { text, toolResults } = await evaluateCalls(
    promptOf({ tools: [write] }),
    [writing("a"), writing("b", "throw")],
    { session, resources },
  );
  expect(text).toBe("done");
  expect(await digest()).toEqual(before);
  expect(toolResults).toHaveLength(2);
});

test("TX-6 a handler sees its own writes at once, listeners after tool.invoked, in order", async () => {
  const session = createSession();
  const order: unknown[] = [];
  session.on("*", (event: SessionEvent) => {
    if (event.type === "noted" && "text" in event) order.push(event.text);
    if (event.type === "tool.invoked") order.push("invoked");
  });
  const twice = defineTool({
    name: "twice",
    description: "Notes twice.",
    input: z.object({}),
    execute(_, { session: state }) {
      state.dispatch(noted({ text: "one" }));
      order.push([...state.get(notes)]);
      state.dispatch(noted({ text: "two" }));
      order.push([...state.get(notes)]);
    },
  });
  await evaluateCalls(promptOf({ tools: [twice] }), [{ name: "twice" }], { session });
  expect(order).toEqual([["one"], ["one", "two"], "invoked", "one", "two"]);
});

test("TX-6 a listener of tool.invoked sees the call's writes already", async () => {
  const { session, resources } = world();
  const seen: unknown[] = [];
  session.on(write, () => seen.push(session.get(notes)));
  await evaluateCalls(promptOf({ tools: [write] }), [writing("a")], { session, resources });
  expect(seen).toEqual([["before", "a"]]);
});

test("TX-6 the events of a rolled-back call reach no listener", async () => {
  const { session, resources } = world();
  const heard: string[] = [];
  session.on(noted, ({ text }) => heard.push(text));
  const calls = [writing("a", "throw"), writing("b"), writing("c", "toolError")];
  await evaluateCalls(promptOf({ tools: [write] }), calls, { session, resources });
  expect(heard).toEqual(["b"]);
});

test("TX-6 the result of a dispatch in a handler has the error of a reducer that throws", async () => {
  const broken = defineSlice({
    name: "broken",
    initial: 0,
    reducers: ({ on }) =>
      on(noted, () => {
        throw "broken";
      }),
  });
  const results: unknown[] = [];
  const note = defineTool({
    name: "note",
    description: "Notes.",
    input: z.object({}),
    execute: (_, { session }) => void results.push(session.dispatch(noted({ text: "a" }))),
  });
  await evaluateCalls(promptOf({ tools: [note], slices: [broken] }), [{ name: "note" }]);
  expect(results).toEqual([{ ok: false, errors: ["broken"] }]);
});

test("TX-7 a log slice that is no list stays as well, also beside state slices that joined later", async () => {
  const { session, resources } = world();
  const counted = defineSlice({
    name: "counted",
    kind: "log",
    initial: { texts: "", count: 0 },
    reducers: ({ on }) => on(noted, (draft, { text }) => ({ texts: draft.texts + text, count: draft.count + 1 })),
  });
  const prompt = promptOf({ tools: [write], slices: [notes, counted] });
  const calls = [writing("a", "throw"), writing("b"), writing("c", "toolError")];
  await evaluateCalls(prompt, calls, { session, resources });
  expect(session.get(counted)).toEqual({ texts: "abc", count: 3 });
  const late = defineSlice({
    name: "late",
    initial: 0,
    reducers: ({ on }) => on(noted, (count) => count + 1),
  });
  await evaluateCalls(promptOf({ tools: [write], slices: [counted, late] }), calls, { session, resources });
  expect([session.get(counted).texts, session.get(notes), session.get(late)]).toEqual([
    "abcabc",
    ["before", "b", "b"],
    1,
  ]);
  session.restore(createSession({ slices: [notes, late] }).snapshot());
  expect([session.get(counted).texts, session.get(notes)]).toEqual(["abcabc", []]);
});

test("TX-7 log slices and events that were delivered stay when a call is rolled back", async () => {
  const { session, resources } = world();
  const events = recordEvents(session);
  const calls = [writing("a", "throw"), writing("b"), writing("c", "toolError")];
  await evaluateCalls(promptOf({ tools: [write], slices: [notes, journal] }), calls, { session, resources });
  expect(session.get(journal)).toEqual(["a", "b", "c"]);
  expect(session.get(notes)).toEqual(["before", "b"]);
  const types = events.map(({ type }) => type).filter((type) => type.startsWith("tool."));
  expect(types).toEqual(Array.from({ length: 3 }, () => ["tool.requested", "tool.invoked"]).flat());
});
