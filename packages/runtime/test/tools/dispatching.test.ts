import { defineEvent, defineSlice, defineTool, toolOk, type DispatchResult, type SessionState } from "@proviso/core";
import { createSession, type Logger } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { evaluateCalls, noted, notes, promptOf, toolMessages } from "./support.ts";

const saved = defineEvent("saved", z.object({ text: z.string() }));
const shelf = defineSlice({
  name: "shelf",
  initial: [] as readonly string[],
  reducers: ({ on }) =>
    on(saved, (draft, { text }) => {
      draft.push(text);
      if (text === "odd") throw new Error("the shelf is full");
    }),
});

/** Evaluates one call of a tool that does this, and returns what became of it. */
async function outcomeOf(execute: (session: SessionState) => unknown) {
  const logged: (readonly [string, object])[] = [];
  const log = (level: string) => (fields: object, message: string) => void logged.push([`${level} ${message}`, fields]);
  const logger: Logger = { debug() {}, info() {}, warn: log("warn"), error: log("error") };
  const session = createSession({ slices: [shelf, notes] });
  const input = z.object({});
  const save = defineTool({
    name: "save",
    description: "Saves.",
    input,
    execute: (_, context) => execute(context.session),
  });
  const prompt = promptOf({ tools: [save], slices: [shelf, notes] });
  const { toolResults, messages } = await evaluateCalls(
    prompt,
    [{ name: "save" }],
    { session },
    {
      ...fakeEnvironment(),
      logger,
    },
  );
  const state = { shelf: session.get(shelf), notes: session.get(notes) };
  return { result: toolResults[0]?.result, text: toolMessages(messages)[0]?.text, state, logged };
}

test("TX-6 a reducer that throws on what a handler dispatched fails the call, and everything is undone", async () => {
  const { result, text, state, logged } = await outcomeOf((session) => {
    session.dispatch(noted({ text: "before" }));
    session.dispatch(saved({ text: "odd" }));
    return "saved";
  });
  const message = 'The event "saved" could not be reduced: the shelf is full';
  expect([result, text]).toEqual([{ success: false, message }, message]);
  expect(state).toEqual({ shelf: [], notes: [] });
  expect(logged.map(([line]) => line)).toEqual(["error session.reducer.failed", "warn tool.failed"]);
  expect(logged[0]?.[1]).toMatchObject({ type: "saved", error: "the shelf is full", callId: expect.any(String) });
});

test.each<[string, (result: DispatchResult) => unknown]>([
  ["ok", ({ ok }) => ok],
  ["errors", ({ errors }) => errors.length],
  ["all of it", (result) => JSON.stringify({ ...result })],
])("TX-6 a handler that looked at %s has decided itself; the log has it all the same", async (_, look) => {
  const { result, state, logged } = await outcomeOf((session) => {
    const dispatched = session.dispatch(saved({ text: "odd" }));
    look(dispatched);
    session.dispatch(noted({ text: "the shelf was full" }));
    return toolOk("noted instead");
  });
  expect(result).toMatchObject({ success: true, value: "noted instead" });
  expect(state).toEqual({ shelf: [], notes: ["the shelf was full"] });
  expect(logged.map(([line]) => line)).toEqual(["error session.reducer.failed"]);
});

test("TX-6 what a handler saw of one dispatch says nothing of another", async () => {
  const { result } = await outcomeOf((session) => {
    if (!session.dispatch(saved({ text: "odd" })).ok) session.dispatch(saved({ text: "odd" }));
    return "saved";
  });
  expect(result).toMatchObject({ success: false });
});
