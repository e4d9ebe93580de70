import { defineTool, toolError, toolOk } from "@proviso/core";
import { fakeEnvironment } from "@proviso/runtime/testing";
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
  ["returns a function", () => () => 1, "The tool returned a value that is not JSON."],
  ["returns a symbol", () => Symbol("x"), "The tool returned a value that is not JSON."],
  [
    "returns what cannot be written",
    () => ({ toJSON: throwing(new Error("hidden")) }),
    "The tool returned a value that is not JSON.",
  ],
])("TOOL-4 a handler that %s gives a failed result", async (_, execute, expected) => {
  const { result, message } = await resultOf(execute);
  expect(result).toEqual({ success: false, message: expected });
  expect(message).toMatchObject({ text: expected, isError: true });
});

test("TOOL-4 a failure without a message tells the model that the tool failed", async () => {
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
