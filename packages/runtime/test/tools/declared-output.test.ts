import { defineEvent, defineSlice, defineTool, toolOk, type Schema, type Tool } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { call, promptWith } from "../support.ts";

const noted = defineEvent("noted", z.object({ text: z.string() }));
const changes = defineSlice({
  name: "changes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});

/** A tool that dispatches an event and returns the value, whatever its schema says. */
function returning(value: unknown, output: Schema | undefined, isLater = false): Tool {
  return defineTool({
    name: "look_up",
    description: "Looks up.",
    input: z.object({}),
    output,
    execute: (_, { session }) => {
      session.dispatch(noted({ text: "changed" }));
      return isLater ? Promise.resolve(value) : value;
    },
  } as Parameters<typeof defineTool>[0]) as Tool;
}

async function resultsOf(tool: Tool) {
  const session = createSession({ slices: [changes] });
  const model = scriptedModel([{ toolCalls: [call("look_up")] }, { text: "done" }]);
  const { toolResults, messages } = await modelAdapter(model, fakeEnvironment()).evaluate(promptWith(tool), {
    session,
  });
  const answer = messages.find(({ role }) => role === "tool");
  return { result: toolResults[0]?.result, changed: session.get(changes), answer };
}

const row = z.object({ id: z.string(), items: z.array(z.object({ n: z.number() })) });
const asynchronous = row.refine(async ({ id }) => id !== "none", { message: "no such id", path: ["id"] });

test.each([
  ["a handler that returns at once", row, false],
  ["a handler that returns a promise", row, true],
  ["an asynchronous schema", asynchronous, false],
  ["an asynchronous schema and a handler that returns a promise", asynchronous, true],
])(
  "TOOL-17 a value that does not fit the declared output fails the call, with its path: %s",
  async (_, output, isLater) => {
    const { result, changed, answer } = await resultsOf(returning({ id: "a", items: [{ n: "1" }] }, output, isLater));
    expect(result).toEqual({
      success: false,
      message: expect.stringMatching(/^The tool returned a value that does not fit its output schema: items\.0\.n: /),
    });
    expect(changed).toEqual([]);
    expect(answer).toMatchObject({ text: result?.message });
    const fitting = await resultsOf(returning({ id: "a", items: [{ n: 1 }] }, output, isLater));
    expect(fitting.result).toMatchObject({ success: true, value: { id: "a", items: [{ n: 1 }] } });
    expect(fitting.changed).toEqual(["changed"]);
  },
);

test("TOOL-17 the value of toolOk is checked too, and its message and hideValue stay", async () => {
  const options = { message: "Found.", hideValue: true };
  const fitting = await resultsOf(returning(toolOk("3", options), z.coerce.number()));
  expect(fitting.result).toEqual({ success: true, value: 3, ...options });
  const unfit = await resultsOf(returning(toolOk({ id: 1 }, options), row));
  expect(unfit.result).toMatchObject({ success: false, message: expect.stringContaining("id: ") });
});

test.each([
  ["a default is filled in", { id: "a" }, z.object({ id: z.string(), n: z.number().default(7) }), { id: "a", n: 7 }],
  [
    "a Date becomes what JSON holds",
    new Date(0),
    z
      .date()
      .transform((at) => at.toISOString())
      .pipe(z.string()),
    "1970-01-01T00:00:00.000Z",
  ],
  [
    "a loose object keeps its other keys",
    { id: "a", more: 1 },
    z.looseObject({ id: z.string() }),
    { id: "a", more: 1 },
  ],
  ["nothing fits where the schema takes nothing", undefined, z.string().optional(), null],
])("TOOL-17 the result holds what the schema made of the value: %s", async (_, value, output, expected) => {
  expect((await resultsOf(returning(value, output))).result).toMatchObject({ success: true, value: expected });
});

test.each([
  ["nothing", undefined, row, /does not fit its output schema/],
  ["a key that the schema does not name", { id: "a", items: [], hash: "x" }, row, /hash: unknown key/],
  ["what fits and is no JSON", new Map(), z.any(), /is not JSON/],
])("TOOL-17 a failed call: %s", async (_, value, output, message) => {
  const { result, changed } = await resultsOf(returning(value, output));
  expect(result).toMatchObject({ success: false, message: expect.stringMatching(message) });
  expect(changed).toEqual([]);
});

test("TOOL-17 a schema that throws fails the call", async () => {
  const boom = z.string().refine(() => {
    throw new Error("broken schema");
  });
  const { result } = await resultsOf(returning("a", boom));
  expect(result).toEqual({
    success: false,
    message: "The value that the tool returned could not be checked: broken schema",
  });
});
