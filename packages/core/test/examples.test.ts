import { DefinitionError, definePrompt, defineTool } from "@proviso/core";
import { expect, test } from "vitest";
import { z } from "zod";

const add = defineTool({
  name: "add",
  description: "Adds.",
  input: z.object({ a: z.number(), b: z.number() }),
  output: z.number(),
  examples: [{ description: "two and two", input: { a: 2, b: 2 }, output: 4 }],
  execute: ({ a, b }) => a + b,
});
const prompt = (more: object = {}) =>
  definePrompt({
    key: "sum",
    output: z.object({ total: z.number() }),
    sections: [{ key: "s", title: "Sum", text: "Sum up.", tools: [add] }],
    ...more,
  });

test("PRM-8 a tool's examples stand below the text of its section", () => {
  expect(prompt().bind().render().text).toBe(
    '## 1. Sum\n\nSum up.\n\nExample of add: two and two\n- input: {"a":2,"b":2}\n- output: 4',
  );
});

test("PRM-8 task examples stand after the sections", () => {
  const examples = [
    { objective: "1 + 2", steps: [{ tool: "add", input: { a: 1, b: 2 }, output: 3 }], outcome: { total: 3 } },
  ];
  expect(prompt({ examples }).bind().render().text).toContain(
    '## Examples\n\n### Example 1: 1 + 2\n1. add {"a":1,"b":2} → 3\nOutcome: {"total":3}',
  );
});

test.each([
  ["an unknown tool", { steps: [{ tool: "nope", input: {} }] }],
  ["an input that does not fit", { steps: [{ tool: "add", input: { a: "1" } }] }],
  ["an unknown key", { steps: [{ tool: "add", input: { a: 1, b: 2, c: 3 } }] }],
  ["an output that does not fit", { steps: [{ tool: "add", input: { a: 1, b: 2 }, output: "3" }] }],
  ["an outcome that does not fit", { steps: [], outcome: { total: "3" } }],
])("PRM-8 a task example with %s is a DefinitionError", (_, example) => {
  expect(() => prompt({ examples: [{ objective: "x", ...example }] })).toThrow(DefinitionError);
});

test("PRM-8 a tool's example that does not fit is a DefinitionError", () => {
  const wrong = { ...add, examples: [{ description: "x", input: { a: 1 }, output: 4 }] } as never;
  expect(() => definePrompt({ key: "p", sections: [{ key: "s", text: "x", tools: [wrong] }] })).toThrow(
    DefinitionError,
  );
});
