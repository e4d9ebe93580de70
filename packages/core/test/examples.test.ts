import { DefinitionError, definePrompt, defineTool, type Tool } from "@proviso/core";
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

test("PRM-5 PRM-8 VIS-1 a task example is shown while all its tools are", () => {
  const [near, far] = ["near", "far"].map((name) =>
    defineTool({ name, description: name, input: z.object({}), execute: () => name }),
  ) as [Tool, Tool];
  const example = (objective: string, ...tools: Tool[]) => ({
    objective,
    steps: tools.map(({ name }) => ({ tool: name, input: {} })),
  });
  const template = definePrompt({
    key: "shown",
    params: z.object({ far: z.boolean() }),
    sections: [
      { key: "near", text: "Near.", tools: [near] },
      { key: "far", text: "Far.", summary: "F.", visibility: "summary", enabled: (p) => p.far, tools: [far] },
    ],
    examples: [example("One", near), example("Two", near, far), example("Three", near)],
  });
  const objectives = (of: boolean, visibility: "full" | "summary") =>
    [
      ...template
        .bind({ far: of })
        .render({ visibility: { far: visibility } })
        .text.matchAll(/### (.+)$/gm),
    ].map(([, heading]) => heading);
  expect(objectives(true, "full")).toEqual(["Example 1: One", "Example 2: Two", "Example 3: Three"]);
  expect(objectives(true, "summary")).toEqual(["Example 1: One", "Example 2: Three"]);
  expect(objectives(false, "full")).toEqual(["Example 1: One", "Example 2: Three"]);
  const none = definePrompt({
    key: "none",
    sections: [
      { key: "s", text: "x" },
      { key: "off", enabled: () => false, tools: [far] },
    ],
    examples: [example("One", far)],
  });
  expect(none.bind().render().text).toBe("x");
});

test.each([{}, { calls: 0 }, { calls: Number.NaN }, { ms: -1 }, { calls: 1, ms: 0 }, undefined])(
  "TOOL-11 feedback every %o is refused when the prompt is defined",
  (every) => {
    const feedback = [{ name: "f", every: every as never, provide: () => "x" }];
    expect(() => definePrompt({ key: "p", text: "x", feedback })).toThrow(/The feedback "f" needs/);
  },
);
