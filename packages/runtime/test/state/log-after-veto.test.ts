import { defineEvent, definePrompt, defineSlice, defineTool } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const noted = defineEvent("noted", z.object({ text: z.string() }));
const log = defineSlice({
  name: "log",
  kind: "log",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (entries, { text }) => entries.push(text)),
});
const counted = defineSlice({
  name: "counted",
  initial: { count: 0 },
  reducers: ({ on }) => on(noted, (state) => void (state.count += 1)),
});
const nothing = defineTool({ name: "nothing", description: "Does nothing.", input: z.object({}), execute: () => "ok" });
const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Go.", tools: [nothing] }] }).bind();

test.each([
  { restores: 0, count: 2 },
  { restores: 1, count: 1 },
  { restores: 2, count: 1 },
])("TX-7 SES-2 a veto leaves what a listener logged before it restored a snapshot, $restores times", async (of) => {
  const session = createSession({ slices: [log, counted] });
  const before = session.snapshot();
  let isFirst = true;
  session.on("tool.invoked", () => {
    if (!isFirst) return;
    isFirst = false;
    session.dispatch(noted({ text: "first" }));
    for (let i = 0; i < of.restores; i++) session.restore(before);
    session.dispatch(noted({ text: "second" }));
    throw new Error("veto");
  });
  const model = scriptedModel([{ toolCalls: [{ name: "nothing" }] }, { text: "done" }]);
  await modelAdapter(model, fakeEnvironment()).evaluate(prompt, { session });
  expect(session.get(log)).toEqual(["first", "second"]);
  expect(session.get(counted)).toEqual({ count: of.count });
});
