import { defineSlice, defineTool, DefinitionError, toolError, type ToolContext } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, invokeTool, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { promptOf } from "../transactions/support.ts";

const input = z.object({});
const steps = defineSlice({
  name: "steps",
  initial: [] as readonly number[],
  reducers: ({ on }) => on("tool.progress", (draft, { done }) => void draft.push(done)),
});

test("TOOL-19 a handler's progress is emitted at once, in the session and in the stream", async () => {
  const order: string[] = [];
  const session = createSession();
  session.on("tool.progress", ({ done, total, message, name, callId, turn }) => {
    order.push(`${name} ${callId} turn ${turn}: ${done} of ${total} ${message}`);
  });
  const copy = defineTool({
    name: "copy",
    description: "Copies.",
    input,
    readOnly: true,
    execute(_, { progress }) {
      progress({ done: 1, total: 2, message: "a.txt" });
      order.push("half");
      progress({ done: 2 });
    },
  });
  const model = scriptedModel([{ toolCalls: [{ id: "c1", name: "copy", arguments: {} }] }, { text: "Done." }]);
  const stream = modelAdapter(model, fakeEnvironment()).stream(promptOf({ tools: [copy] }), { session });
  const streamed: unknown[] = [];
  for await (const event of stream) if (event.type === "tool.progress") streamed.push([event.done, event.total]);
  expect(order).toEqual(["copy c1 turn 1: 1 of 2 a.txt", "half", "copy c1 turn 1: 2 of undefined undefined"]);
  expect(streamed).toEqual([
    [1, 2],
    [2, undefined],
  ]);
});

test("TOOL-19 what reducers made of the progress of a failed call is undone with it", async () => {
  const session = createSession({ slices: [steps] });
  const count = (fails: boolean) =>
    defineTool({
      name: "count",
      description: "Counts.",
      input,
      execute(_, { progress }) {
        progress({ done: fails ? 1 : 2 });
        return fails ? toolError("no") : "yes";
      },
    });
  await invokeTool(count(true), {}, { session });
  expect(session.get(steps)).toEqual([]);
  await invokeTool(count(false), {}, { session });
  expect(session.get(steps)).toEqual([2]);
});

test("TOOL-19 after the call is over nothing is emitted", async () => {
  const session = createSession();
  let heard = 0;
  session.on("tool.progress", () => void (heard += 1));
  let kept: Pick<ToolContext, "progress"> | undefined;
  const keep = defineTool({
    name: "keep",
    description: "Keeps.",
    input,
    execute: (_, context) => void (kept = context),
  });
  await invokeTool(keep, {}, { session });
  kept?.progress({ done: 1 });
  expect(heard).toBe(0);
});

test.each([
  [{ done: Number.NaN }, "must have done"],
  [{ done: -1 }, "must have done"],
  [{ done: 1, total: Infinity }, "total must be a number"],
  [{ done: 1, message: 2 }, "message must be a text"],
  [undefined, "must be an object"],
])("TOOL-19 what is no progress is refused: %j", async (progress, message) => {
  const wrong = defineTool({
    name: "wrong",
    description: "Wrong.",
    input,
    execute: (_, context) => context.progress(progress as never),
  });
  const { result, cause } = await invokeTool(wrong, {}, { session: createSession() });
  expect(result.message).toContain(message);
  expect(cause).toBeInstanceOf(DefinitionError);
});
