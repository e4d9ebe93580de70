import { defineTool, type ToolChoice } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { evaluateCalls, fc, promptOf } from "./support.ts";

const ids: string[] = [];
const echo = defineTool({
  name: "echo",
  description: "Echoes.",
  input: z.object({}),
  execute: (_, { callId }) => void ids.push(callId),
});

test("TOOL-7 every call is answered once, in order; missing and repeated ids are made unique before anything runs", async () => {
  const givenIds = fc.array(fc.constantFrom("", "a", "b", "call_id-1-2", "call_id-1-3"), {
    minLength: 1,
    maxLength: 8,
  });
  await fc.assert(
    fc.asyncProperty(givenIds, async (given) => {
      ids.length = 0;
      const calls = given.map((id, index) => ({ name: index % 3 === 2 ? "none" : "echo", id }));
      const { messages, toolResults } = await evaluateCalls(promptOf({ tools: [echo] }), calls);
      const asked = messages.flatMap((message) =>
        message.role === "assistant" ? message.toolCalls.map(({ id }) => id) : [],
      );
      const answered = messages.flatMap((message) => (message.role === "tool" ? [message.callId] : []));
      expect(new Set(asked).size).toBe(given.length);
      expect(asked.every((id) => id !== "")).toBe(true);
      expect(answered).toEqual(asked);
      expect(toolResults.map(({ callId }) => callId)).toEqual(asked);
      expect(ids).toEqual(asked.filter((_, index) => index % 3 !== 2));
      // The first to have an id keeps it.
      expect(asked[0]).toBe(given[0] === "" ? asked[0] : given[0]);
    }),
  );
});

test("TOOL-7 ids are unique even where newId gives always the same", async () => {
  const calls = ["", "", "", "same", "same"].map((id) => ({ name: "echo", id }));
  const { toolResults } = await evaluateCalls(
    promptOf({ tools: [echo] }),
    calls,
    {},
    { ...fakeEnvironment(), newId: () => "same" },
  );
  expect(new Set(toolResults.map(({ callId }) => callId)).size).toBe(5);
});

test("TOOL-7 an id that is made up is none that another call has", async () => {
  const calls = ["call_same_2", "", "", "call_same_4", ""].map((id) => ({ name: "echo", id }));
  const { toolResults } = await evaluateCalls(
    promptOf({ tools: [echo] }),
    calls,
    {},
    { ...fakeEnvironment(), newId: () => "same" },
  );
  expect(new Set(toolResults.map(({ callId }) => callId)).size).toBe(5);
});

async function choices(
  choice: ToolChoice | undefined,
  adapterChoice: ToolChoice | undefined,
  ...tools: (typeof echo)[]
) {
  const model = scriptedModel([{ toolCalls: [{ name: "echo" }] }, { toolCalls: [{ name: "echo" }] }, { text: "done" }]);
  await modelAdapter(model, { ...fakeEnvironment(), toolChoice: adapterChoice }).evaluate(promptOf({ tools }), {
    toolChoice: choice,
  });
  return model.requests.map(({ toolChoice }) => toolChoice);
}

test("TOOL-9 a forced tool and required return to auto after the first turn with calls, none persists", async () => {
  expect(await choices({ tool: "echo" }, undefined, echo)).toEqual([{ tool: "echo" }, "auto", "auto"]);
  expect(await choices("required", undefined, echo)).toEqual(["required", "auto", "auto"]);
  expect(await choices("none", undefined, echo)).toEqual(["none", "none", "none"]);
  expect(await choices("auto", undefined, echo)).toEqual(["auto", "auto", "auto"]);
});

test("TOOL-9 the adapter's choice is the default, the evaluation's wins; without either, or without tools, none is sent", async () => {
  expect(await choices(undefined, "required", echo)).toEqual(["required", "auto", "auto"]);
  expect(await choices("none", "required", echo)).toEqual(["none", "none", "none"]);
  expect(await choices(undefined, undefined, echo)).toEqual([undefined, undefined, undefined]);
  expect(await choices("required", "required")).toEqual([undefined, undefined, undefined]);
});
