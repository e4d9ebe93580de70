// Found by the simulation: what the session keeps of a call that was undone, in less common places.
import { defineSlice } from "@proviso/core";
import { createSession, openResources, transaction } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { calling, noted, notes, promptOf, toolOf } from "./support.ts";

/** The names of the tools whose calls were announced, as state. */
const announced = defineSlice({
  name: "announced",
  initial: [] as readonly string[],
  reducers: ({ on }) => on("tool.requested", (draft, { name }) => void draft.push(name)),
});
test("TX-1 a call that fails in the body of a transaction leaves nothing in the session", async () => {
  const environment = fakeEnvironment();
  const session = createSession({ slices: [announced] });
  await using resources = await openResources([]);
  const fails = toolOf("fails", () => {
    throw new Error("it failed");
  });
  const prompt = promptOf({ tools: [fails] });
  await transaction({ session, resources }, () => calling(environment, "fails").evaluate(prompt, { session }));
  expect(session.get(announced)).toEqual([]);
});

test("TX-1 two reads of two evaluations that overlap and both fail leave nothing in the session", async () => {
  const environment = fakeEnvironment();
  const session = createSession({ slices: [announced] });
  const failsAfter = (name: string, ms: number) =>
    promptOf({
      tools: [
        toolOf(
          name,
          async () => {
            await environment.clock.sleep(ms);
            throw new Error("it failed");
          },
          { readOnly: true },
        ),
      ],
    });
  const first = calling(environment, "first").evaluate(failsAfter("first", 10), { session });
  await environment.clock.advance(5);
  const second = calling(environment, "second").evaluate(failsAfter("second", 20), { session });
  await environment.clock.advance(100);
  await Promise.all([first, second]);
  expect(session.get(announced)).toEqual([]);
});

test("LIM-2 a call is not announced after a listener has aborted at the call before it", async () => {
  const environment = fakeEnvironment();
  const session = createSession();
  const controller = new AbortController();
  const heard: string[] = [];
  session.on("tool.requested", ({ name }) => {
    heard.push(name);
    controller.abort();
  });
  const tools = [toolOf("one", () => 1, { readOnly: true }), toolOf("two", () => 2, { readOnly: true })];
  const evaluating = calling(environment, "one", "two").evaluate(promptOf({ tools }), {
    session,
    signal: controller.signal,
  });
  await expect(evaluating).rejects.toMatchObject({ code: "aborted" });
  expect(heard).toEqual(["one"]);
});

test("TX-9 what a listener or a handler dispatches by the session itself is undone with the transaction around", async () => {
  const environment = fakeEnvironment();
  const session = createSession({ slices: [notes] });
  await using resources = await openResources([]);
  session.on("tool.requested", () => void session.dispatch(noted({ text: "the listener" })));
  const tool = toolOf("note", () => void session.dispatch(noted({ text: "the handler" })));
  const during: (readonly string[])[] = [];
  await transaction({ session, resources }, async (rollback) => {
    await calling(environment, "note").evaluate(promptOf({ tools: [tool] }), { session });
    during.push(session.get(notes));
    await rollback();
  });
  expect(during).toEqual([["the listener", "the handler"]]);
  expect(session.get(notes)).toEqual([]);
});
