import { defineTool, Filesystem, provide, toolError, toolOk, type ToolInvoked } from "@proviso/core";
import { createSession, memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { evaluateCalls, promptOf, toolMessages } from "./support.ts";

async function resultOf(execute: () => unknown) {
  const tool = defineTool({ name: "t", description: "T.", input: z.object({}), execute });
  const { toolResults, messages } = await evaluateCalls(promptOf({ tools: [tool] }), [{ name: "t" }]);
  return { result: toolResults[0]?.result, message: toolMessages(messages)[0], answers: toolMessages(messages).length };
}
const throwing = (error: unknown) => () => {
  throw error;
};

test("TOOL-4 returning nothing is a success without a value", async () => {
  const { result, message } = await resultOf(() => undefined);
  expect(result).toEqual({ success: true, message: "", value: null, hideValue: false });
  expect(message).toMatchObject({ text: "Done.", isError: false });
});

test.each([
  [null, "null"],
  ["", "(empty)"],
])("TOOL-5 a look-up that returned %j is no success that says nothing: its message names it", async (value, named) => {
  const { result, message } = await resultOf(() => value);
  expect(result).toEqual({ success: true, message: named, value, hideValue: true });
  expect(message).toMatchObject({ text: named, isError: false });
  const said = await resultOf(() => toolOk(value, { message: "No such customer." }));
  expect(said.message).toMatchObject({ text: "No such customer.", isError: false });
});

test("TOOL-4 only what toolOk and toolError made is a result, a copy or a look-alike is a value", async () => {
  const made = toolError("no") as unknown as object;
  for (const value of [{ success: false, message: "x" }, { ...made }, { success: true, message: "m", value: 1 }]) {
    expect((await resultOf(() => value)).result).toEqual({ success: true, message: "", value, hideValue: false });
  }
  expect((await resultOf(() => made)).result).toEqual({ success: false, message: "no" });
});

test.each([
  ["throws an error", throwing(new TypeError("broke")), "broke"],
  ["throws a text", throwing("a text"), "a text"],
  ["throws nothing", throwing(undefined), "undefined"],
  ["throws an error without a message", throwing(new Error()), "The tool failed."],
  ["rejects", () => Promise.reject(new Error("later")), "later"],
  [
    "returns a function",
    () => () => 1,
    "The tool returned a value that is not JSON: it is a function. Return plain JSON.",
  ],
  [
    "returns a symbol",
    () => Symbol("x"),
    "The tool returned a value that is not JSON: it is a symbol. Return plain JSON.",
  ],
  [
    "returns what cannot be written",
    () => ({ toJSON: throwing(new Error("hidden")) }),
    "The tool returned a value that is not JSON: toJSON is a function. Return plain JSON.",
  ],
])("TOOL-4 a handler that %s gives a failed result", async (_, execute, expected) => {
  const { result, message } = await resultOf(execute);
  expect(result).toEqual({ success: false, message: expected });
  expect(message).toMatchObject({ text: expected, isError: true });
});

const circle: { readonly rows: unknown[] } = { rows: [] };
circle.rows.push({ again: circle });
class Money {
  readonly cents = 7;
  toJSON(): number {
    return this.cents;
  }
}

test.each<readonly [name: string, value: unknown, problem: string]>([
  ["a Map", new Map([["a", 1]]), "it is a Map"],
  ["a Set below", { tags: new Set(["a"]) }, "tags is a Set"],
  ["NaN", Number.NaN, "it is NaN"],
  ["an infinite number below", { rows: [{ rate: Infinity }] }, "rows[0].rate is Infinity"],
  ["a Buffer", Buffer.from("a"), "it is a Buffer"],
  ["bytes below", { file: new Uint8Array(3) }, "file is a Uint8Array"],
  ["a bigint", 7n, "it is a bigint"],
  ["a bigint below", { rows: [{ id: 7n }] }, "rows[0].id is a bigint"],
  ["a Date", { at: new Date(0) }, "at is a Date"],
  ["an instance of a class", [new Money()], "[0] is a Money"],
  ["a function below", { run: () => 1 }, "run is a function"],
  ["undefined in a list", [1, undefined], "[1] is undefined"],
  ["a hole in a list", [1, , 3], "[1] is undefined"], // oxlint-disable-line no-sparse-arrays
  ["a promise below", { later: Promise.resolve(1) }, "later is a Promise"],
])("TOOL-15 a result that is %s is refused, with the path, as a state is", async (_, value, problem) => {
  for (const returned of [value, toolOk(value, { message: "Fine." })]) {
    const { result, message } = await resultOf(() => returned);
    const expected = `The tool returned a value that is not JSON: ${problem}. Return plain JSON.`;
    expect(result).toEqual({ success: false, message: expected });
    expect(message).toMatchObject({ text: expected, isError: true });
  }
});

test("TOOL-15 a result that holds itself is refused, and one that cannot be read", async () => {
  expect((await resultOf(() => circle)).result).toMatchObject({
    success: false,
    message: expect.stringMatching(/rows\[0\]\.again\.rows.* may hold itself/),
  });
  const unreadable = Object.defineProperty({}, "a", { enumerable: true, get: throwing(new Error("closed")) });
  expect((await resultOf(() => unreadable)).result).toMatchObject({
    success: false,
    message: "The tool returned a value that is not JSON: it cannot be read: closed",
  });
});

test("TOOL-15 what JSON leaves out of an object is left out", async () => {
  const { result } = await resultOf(() => ({ a: undefined, b: [{ c: null }], d: -0 }));
  expect(result).toEqual({ success: true, message: "", value: { b: [{ c: null }], d: 0 }, hideValue: false });
});

test("TOOL-16 EVT-4 what a handler throws goes to listeners and the log, and into no JSON", async () => {
  const thrown = new TypeError("broke", { cause: new Error("inside") });
  const tool = defineTool({ name: "t", description: "T.", input: z.object({}), execute: throwing(thrown) });
  const records: object[] = [];
  const logger = {
    debug: () => {},
    info: () => {},
    error: () => {},
    warn: (fields: object) => void records.push(fields),
  };
  const session = createSession();
  const heard: ToolInvoked[] = [];
  session.on("tool.invoked", (event) => void heard.push(event));
  const model = scriptedModel([{ toolCalls: [{ name: "t" }] }, { text: "Done." }]);
  const { toolResults, messages } = await modelAdapter(model, { logger }).evaluate(promptOf({ tools: [tool] }), {
    session,
  });
  const [event] = heard;
  expect(event?.cause).toBe(thrown);
  expect(toolResults[0]?.cause).toBe(thrown);
  expect(Object.keys(event ?? {})).not.toContain("cause");
  expect(JSON.stringify([event, session, messages])).not.toMatch(/inside|TypeError|stack/);
  expect(JSON.stringify(model.requests)).not.toMatch(/inside|TypeError|stack/);
  expect(structuredClone(event)).not.toHaveProperty("cause");
  expect(records).toContainEqual(
    expect.objectContaining({
      tool: "t",
      error: "broke",
      err: thrown,
      stack: expect.stringContaining("results.test.ts"),
    }),
  );
});

test("TOOL-16 what a listener vetoed has what it threw as its cause, and a refusal has none", async () => {
  const tool = defineTool({ name: "t", description: "T.", input: z.object({}), execute: () => "done" });
  const session = createSession();
  const veto = new Error("not that");
  let calls = 0;
  session.on("tool.invoked", () => {
    if (calls++ === 0) throw veto;
  });
  const model = scriptedModel([{ toolCalls: [{ name: "t" }, { name: "t", arguments: "{" }] }, { text: "Done." }]);
  const { toolResults } = await modelAdapter(model).evaluate(promptOf({ tools: [tool] }), { session });
  expect(toolResults.map(({ cause }) => cause)).toEqual([veto, undefined]);
});

test('TOOL-4 a failure without a message reads as "the tool failed" for the model', async () => {
  const tables: Record<string, string> = {};
  for (const given of [tables["nothing"], ""]) {
    const { result, message } = await resultOf(() => toolError(given as string));
    expect(result).toEqual({ success: false, message: "The tool failed." });
    expect(message).toMatchObject({ text: "The tool failed.", isError: true });
  }
});

test.each([
  ["an object without a prototype", throwing(Object.create(null))],
  ["an object that cannot be shown", throwing({ toString: throwing(new Error("no")) })],
  [
    "an error whose message cannot be read",
    throwing(Object.defineProperty(new Error(), "message", { get: throwing(1) })),
  ],
  ["a symbol", throwing(Symbol("x"))],
])("TOOL-4 a handler that throws %s gives a failed result", async (_, execute) => {
  const { result, answers } = await resultOf(execute);
  expect([result?.success, answers]).toEqual([false, 1]);
});

test("TOOL-4 a handler that outlasts its timeoutMs gives a failed result then, and the evaluation goes on", async () => {
  const environment = fakeEnvironment();
  const slow = defineTool({
    name: "slow",
    description: "Slow.",
    input: z.object({ ms: z.number() }),
    timeoutMs: 1_000,
    execute: ({ ms }) => environment.clock.sleep(ms).then(() => "late"),
  });
  const calls = [999, 1_001].map((ms) => ({ name: "slow", arguments: { ms } }));
  const evaluating = evaluateCalls(promptOf({ tools: [slow] }), calls, {}, environment);
  await environment.clock.advance(3_000);
  const { toolResults, messages, text } = await evaluating;
  const message = "slow took longer than 1000 ms and was stopped.";
  expect(toolResults.map(({ result }) => result)).toMatchObject([
    { success: true, value: "late" },
    { success: false, message },
  ]);
  expect(toolResults.map(({ durationMs }) => durationMs)).toEqual([999, 1_000]);
  expect([toolMessages(messages)[1]?.text, text]).toEqual([message, "done"]);
});

test.each([
  ["keeps the event loop busy", () => undefined],
  ["keeps the event loop busy, then awaits", () => Promise.resolve()],
])("TOOL-4 a handler that %s for longer than its timeoutMs gives a failed result, and is undone", async (_, then) => {
  const { clock, ...environment } = fakeEnvironment();
  let busyMs = 0;
  const slow = defineTool({
    name: "slow",
    description: "Slow.",
    input: z.object({ ms: z.number() }),
    timeoutMs: 1_000,
    uses: [Filesystem],
    async execute({ ms }, { resources }) {
      await resources.get(Filesystem).write(`${ms}.txt`, "written");
      busyMs += ms;
      await Promise.resolve(then());
      return "late";
    },
  });
  const files = memoryFilesystem();
  const busyClock = { now: () => clock.now() + busyMs, sleep: clock.sleep };
  const calls = [1_000, 1_001].map((ms) => ({ name: "slow", arguments: { ms } }));
  const adapter = modelAdapter(scriptedModel([{ toolCalls: calls }, { text: "done" }]), {
    ...environment,
    clock: busyClock,
  });
  const { toolResults } = await adapter.evaluate(promptOf({ tools: [slow] }), {
    resources: [provide(Filesystem, files)],
  });
  expect(toolResults.map(({ result }) => result)).toMatchObject([
    { success: true, value: "late" },
    { success: false, message: "slow took longer than 1000 ms and was stopped." },
  ]);
  expect(await files.glob("**")).toEqual(["1000.txt"]);
});

test("TOOL-4 a stack never reaches the model or the events", async () => {
  const { result, message } = await resultOf(throwing(new Error("broke")));
  expect(JSON.stringify([result, message])).not.toMatch(/\bat .*:\d+:\d+/);
});

test.each([
  ["message and value", () => toolOk({ a: 1 }, { message: "Found" }), 'Found\n\n{"a":1}'],
  [
    "the message alone when the value is hidden",
    () => toolOk({ a: 1 }, { message: "Found", hideValue: true }),
    "Found",
  ],
  ["a text as it is", () => "line\n{}", "line\n{}"],
  ["the rest as JSON", () => [1, "a", null, true], '[1,"a",null,true]'],
  ["a false value", () => 0, "0"],
  ["null, of a look-up that found nothing", () => null, "null"],
  ["an empty text by name", () => "", "(empty)"],
  ["a message alone in place of null", () => toolOk(null, { message: "There is none." }), "There is none."],
  ["a message alone in place of an empty text", () => toolOk("", { message: "It is empty." }), "It is empty."],
  ["that nothing was returned", () => toolOk(undefined), "Done."],
  ["a mended lone surrogate", () => "x\ud800y", "x\ufffdy"],
])("TOOL-5 the model reads %s", async (_, execute, expected) => {
  expect((await resultOf(execute)).message?.text).toBe(expected);
});

test("TOOL-5 a text over 64 KiB is cut in the middle with a note of its size, one of 64 KiB is not", async () => {
  const limit = 64 * 1024;
  expect((await resultOf(() => "x".repeat(limit))).message?.text).toHaveLength(limit);
  const long = `start ${"x".repeat(limit)} end`;
  const { message, result } = await resultOf(() => long);
  expect(message?.text).toMatch(/^start x.*cut: 65546 characters.*x end$/s);
  expect(message?.text.length).toBeLessThan(limit + 200);
  expect(result).toMatchObject({ value: long });
});

test("TOOL-5 a cut does not leave half a character", async () => {
  const { message } = await resultOf(() => `a${"😀".repeat(64 * 1024)}`);
  expect(message?.text.isWellFormed()).toBe(true);
});

test("TOOL-5 an error's long or broken message is treated the same", async () => {
  const { message } = await resultOf(throwing(new Error(`\udc00${"x".repeat(100_000)}`)));
  expect(message?.text).toMatch(/^\ufffdx+.*cut: 100001/s);
});

test.each([
  [{ code: 42, message: "The table is gone." }, "The table is gone."],
  [{ code: 42 }, "Something was thrown that has no message."],
  ["No such table.", "No such table."],
])("TOOL-4 of what is thrown and is no Error, %j, the model reads the message", async (thrown, text) => {
  const { message } = await resultOf(throwing(thrown));
  expect(message).toMatchObject({ text, isError: true });
});
