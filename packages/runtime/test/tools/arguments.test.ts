import { defineTool, type ModelProvider } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { evaluateCalls, fc, promptOf, toolMessages } from "./support.ts";
import { anyCharacter } from "../../../core/test/support/any-character.ts";

const seen: unknown[] = [];
const echo = defineTool({
  name: "echo",
  description: "Echoes.",
  input: z.object({ a: z.object({ b: z.array(z.object({ c: z.number() })) }).optional(), s: z.string().optional() }),
  execute: (input) => void seen.push(input),
});

async function invoke(given: object | string, tool = echo) {
  seen.length = 0;
  const { toolResults, messages } = await evaluateCalls(promptOf({ tools: [tool] }), [
    { name: tool.name, arguments: given },
  ]);
  return { invoked: toolResults[0], text: toolMessages(messages)[0]?.text };
}

test.each(["", "null", " \n", "{}"])("TOOL-1 the arguments %j mean {}", async (given) => {
  const { invoked } = await invoke(given);
  expect([seen, invoked?.params]).toEqual([[{}], {}]);
});

test.each([undefined, null])("TOOL-1 arguments that are %s in the provider's answer mean {}", async (given) => {
  seen.length = 0;
  let turn = 0;
  const model: ModelProvider = {
    name: "raw",
    model: "raw",
    capabilities: { tools: true, nativeOutput: true },
    generate: async () =>
      turn++ === 0
        ? {
            message: {
              role: "assistant",
              text: "",
              toolCalls: [{ id: "1", name: "echo", arguments: given as unknown as string }],
            },
            finishReason: "tool-calls",
            usage: { inputTokens: 1, outputTokens: 1 },
          }
        : {
            message: { role: "assistant", text: "done", toolCalls: [] },
            finishReason: "stop",
            usage: { inputTokens: 1, outputTokens: 1 },
          },
  };
  await modelAdapter(model, fakeEnvironment()).evaluate(promptOf({ tools: [echo] }));
  expect(seen).toEqual([{}]);
});

test.each([
  ["not JSON", "{", /could not be read: not JSON.*Send one JSON object/],
  ["an array", "[]", /one JSON object, not an array/],
  ["a number", "1", /one JSON object, not a number/],
  ["a string", '"x"', /one JSON object, not a string/],
  ["a forbidden key", '{"__proto__":{}}', /"__proto__" is not allowed/],
  ["a forbidden key further down", '{"a":{"b":[{"constructor":1}]}}', /"constructor" is not allowed/],
  ["another forbidden key", '{"prototype":1}', /"prototype" is not allowed/],
  ["65 levels", `${'{"a":'.repeat(65)}1${"}".repeat(65)}`, /nested deeper than 64/],
  ["more than 1 MiB", JSON.stringify({ s: "x".repeat(1024 * 1024) }), /larger than 1048576/],
])("TOOL-1 %s is a failed result that says so", async (_, given, message) => {
  const { invoked, text } = await invoke(given);
  expect(text).toMatch(message);
  expect(invoked).toMatchObject({ params: { rawArguments: given, error: text }, result: { success: false } });
  expect(seen).toEqual([]);
});

test("TOOL-1 64 levels are deep enough", async () => {
  const { text } = await invoke(`${'{"a":'.repeat(64)}1${"}".repeat(64)}`);
  expect(text).toMatch(/do not fit/);
});

test("TOOL-1 TOOL-2 whatever text the model sends, the call is answered once and Object.prototype is untouched", async () => {
  const names = Object.getOwnPropertyNames(Object.prototype);
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.string({ unit: anyCharacter }), fc.json(), fc.constantFrom("{", "[]", "0")),
      async (given) => {
        const { invoked } = await invoke(given);
        expect(typeof invoked?.result.success).toBe("boolean");
      },
    ),
  );
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(names);
});

test("TOOL-2 unknown keys at any depth and issues of the schema are listed with their paths", async () => {
  const given = { a: { b: [{ c: "x", d: 1 }], e: 2 }, f: 3 };
  const { invoked, text } = await invoke(given);
  for (const issue of ["a.b.0.c: ", "a.b.0.d: unknown key", "a.e: unknown key", "f: unknown key"]) {
    expect(text).toContain(issue);
  }
  expect(invoked?.params).toEqual({ rawArguments: JSON.stringify(given), error: text });
  expect(seen).toEqual([]);
});

test("TOOL-2 a schema that throws or checks asynchronously is a failed or a good call, never the evaluation's end", async () => {
  const toolWith = (s: z.ZodType<string>) =>
    defineTool({ ...echo, input: z.object({ s }) } as Parameters<typeof defineTool>[0]) as unknown as typeof echo;
  const later = toolWith(z.string().refine(async (text) => text === "good", "not good"));
  const broken = toolWith(
    z.string().refine(() => {
      throw new Error("schema broke");
    }),
  );
  expect((await invoke({ s: "bad" }, later)).text).toContain("s: not good");
  expect((await invoke({ s: "x" }, broken)).text).toContain("schema broke");
  expect((await invoke({ s: "good" }, later)).text).toBe("Done.");
});

test("TOOL-3 an unknown tool is a failed result that lists those there are; names of Object.prototype are unknown too", async () => {
  const { toolResults } = await evaluateCalls(promptOf({ tools: [echo] }), [
    { name: "Echo" },
    { name: "toString" },
    { name: "__proto__" },
  ]);
  for (const { result, name } of toolResults) {
    expect(result).toEqual({ success: false, message: `There is no tool "${name}". The tools are: echo.` });
  }
  const { toolResults: none } = await evaluateCalls(promptOf(), [{ name: "x" }]);
  expect(none[0]?.result.message).toBe('There is no tool "x". There are none.');
});
