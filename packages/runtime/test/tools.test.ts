import { defineTool, Filesystem, provide, toolOk, type Tool } from "@proviso/core";
import { memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { call, promptWith, writes } from "./support.ts";

const echo = defineTool({
  name: "echo",
  description: "Echoes.",
  input: z.object({ deep: z.object({ a: z.number() }).optional() }),
  execute: (input) => input,
});

async function answersOf(tool: Tool, ...given: readonly (object | string)[]) {
  const model = scriptedModel([{ toolCalls: given.map((item) => call(tool.name, item)) }, { text: "done" }]);
  const response = await modelAdapter(model).evaluate(promptWith(tool), {
    resources: [provide(Filesystem, memoryFilesystem())],
  });
  const texts = response.messages.flatMap((message) => (message.role === "tool" ? [message.text] : []));
  return { texts, ...response };
}

test("TOOL-1 missing, null and empty arguments mean {}; what is no JSON object is a failed result", async () => {
  const { texts } = await answersOf(echo, "", "null", "  ", "[]", '"x"', "{", '{"__proto__":{}}', "[".repeat(100));
  expect(texts.slice(0, 3)).toEqual(["{}", "{}", "{}"]);
  expect(texts.slice(3)).toEqual([
    "The arguments must be one JSON object, not an array.",
    "The arguments must be one JSON object, not a string.",
    expect.stringContaining("not JSON"),
    expect.stringContaining('"__proto__" is not allowed'),
    expect.stringContaining("nested deeper than 64"),
  ]);
});

test("TOOL-2 unknown keys at any depth and schema issues are listed; the handler is not run", async () => {
  const { texts, toolResults } = await answersOf(echo, { deep: { a: "x", b: 1 }, c: 2 });
  expect(texts[0]).toMatch(/deep\.a: .*deep\.b: unknown key; c: unknown key/);
  expect(toolResults[0]?.params).toMatchObject({ rawArguments: '{"deep":{"a":"x","b":1},"c":2}', error: texts[0] });
});

test("TOOL-3 an unknown tool is a failed result that lists the tools there are", async () => {
  const model = scriptedModel([{ toolCalls: [call("constructor"), call("Echo")] }, { text: "done" }]);
  const { toolResults } = await modelAdapter(model).evaluate(promptWith(echo));
  expect(toolResults.map(({ result }) => result)).toEqual([
    { success: false, message: 'There is no tool "constructor". The tools are: echo.' },
    { success: false, message: 'There is no tool "Echo". The tools are: echo.' },
  ]);
});

const circle: Record<string, unknown> = {};
circle["self"] = circle;
const thrown = (value: unknown) => (): never => {
  throw value;
};
const handlers: readonly (readonly [string, () => unknown, string, boolean])[] = [
  ["nothing", () => undefined, "Done.", true],
  ["a look-alike of a result", () => ({ success: false, message: "x" }), '{"success":false,"message":"x"}', true],
  ["a bigint", () => ({ n: 1n }), '{"n":"1"}', true],
  ["an error thrown", thrown(new Error("broke")), "broke", false],
  ["a string thrown", thrown("text"), "text", false],
  ["a rejection", () => Promise.reject(new Error("later")), "later", false],
  ["a function", () => () => 1, "The tool returned a value that is not JSON.", false],
  ["a circle", () => circle, "The tool returned a value that is not JSON.", false],
];

test.each(handlers)("TOOL-4 a handler gives %s", async (_, execute, text, success) => {
  const tool = defineTool({ name: "t", description: "T.", input: z.object({}), execute });
  const { texts, toolResults } = await answersOf(tool, {});
  expect([texts[0], toolResults[0]?.result.success]).toEqual([text, success]);
});

test("TOOL-5 the model reads message, blank line, value; a hidden value not; long texts are cut, surrogates mended", async () => {
  const cases = [
    toolOk({ a: 1 }, { message: "Found" }),
    toolOk({ a: 1 }, { message: "Found", hideValue: true }),
    "plain \ud800",
    "x".repeat(100_000),
  ];
  let index = 0;
  const tool = defineTool({
    name: "t",
    description: "T.",
    input: z.object({}),
    execute: () => cases[index++] as string,
  });
  const { texts } = await answersOf(tool, {}, {}, {}, {});
  expect(texts.slice(0, 3)).toEqual(['Found\n\n{"a":1}', "Found", "plain \ufffd"]);
  expect(texts[3]?.length).toBeLessThan(66_000);
  expect(texts[3]).toContain("100000 characters in all");
});

test("TOOL-7 every call is answered once; missing and repeated ids are made unique", async () => {
  const model = scriptedModel([
    { toolCalls: [call("echo", {}, "same"), call("echo", {}, "same"), call("echo", {}, "")] },
    { text: "done" },
  ]);
  const { messages } = await modelAdapter(model).evaluate(promptWith(echo));
  const asked = messages.flatMap((message) =>
    message.role === "assistant" ? message.toolCalls.map(({ id }) => id) : [],
  );
  const answered = messages.flatMap((message) => (message.role === "tool" ? [message.callId] : []));
  expect(new Set(asked).size).toBe(3);
  expect(asked).toEqual(answered);
});

test("TOOL-9 a forced tool returns to auto after its turn, none stays, without tools none is sent", async () => {
  const choices = async (toolChoice: "none" | "required" | { tool: string }, ...tools: readonly (typeof writes)[]) => {
    const model = scriptedModel([{ toolCalls: [call("nope")] }, { text: "done" }]);
    await modelAdapter(model, { toolChoice: "none" }).evaluate(promptWith(...tools), { toolChoice });
    return model.requests.map((request) => request.toolChoice);
  };
  expect(await choices({ tool: "write" }, writes)).toEqual([{ tool: "write" }, "auto"]);
  expect(await choices("required", writes)).toEqual(["required", "auto"]);
  expect(await choices("none", writes)).toEqual(["none", "none"]);
  expect(await choices("required")).toEqual([undefined, undefined]);
});
