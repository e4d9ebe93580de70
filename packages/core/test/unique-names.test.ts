import { describe, expect, test } from "vitest";
import { z } from "zod";
import { DefinitionError, definePrompt, defineTool } from "@proviso/core";
import { builtInTools } from "@proviso/core/internal";
import { caught } from "./support/caught.ts";
import { tool } from "./support/tools.ts";

describe("PRM-6 unique names", () => {
  test("PRM-6 two siblings of one key are refused, at the top and below", () => {
    const top = () => definePrompt({ ns: "a", key: "b", sections: [{ key: "s" }, { key: "s" }] });
    const below = () =>
      definePrompt({ ns: "a", key: "b", sections: [{ key: "s", children: [{ key: "c" }, { key: "c" }] }] });
    expect(caught(top)).toBeInstanceOf(DefinitionError);
    expect(caught(top).message).toBe('Two sections have the key "s".');
    expect(caught(below).message).toBe('Two sections in "s" have the key "c".');
  });

  test("PRM-6 sections that are no siblings may share a key", () => {
    const template = definePrompt({
      ns: "a",
      key: "b",
      sections: [
        { key: "x", children: [{ key: "x" }] },
        { key: "y", children: [{ key: "x" }] },
      ],
    });
    expect(Object.keys(template.descriptor.sections)).toEqual(["x", "x.x", "y", "y.x"]);
  });

  test("PRM-6 two tools of one name are refused wherever they stand, even in a disabled section", () => {
    const define = () =>
      definePrompt({
        ns: "a",
        key: "b",
        sections: [
          { key: "x", tools: [tool("t")] },
          { key: "y", enabled: () => false, children: [{ key: "z", tools: [tool("t")] }] },
        ],
      });
    expect(caught(define)).toBeInstanceOf(DefinitionError);
    expect(caught(define).message).toBe('Two tools have the name "t".');
  });

  test.each(builtInTools)("PRM-6 a tool cannot be called %s, as the framework's own is", (name) => {
    const error = caught(() => definePrompt({ ns: "a", key: "b", sections: [{ key: "s", tools: [tool(name)] }] }));
    expect(error).toBeInstanceOf(DefinitionError);
    expect(error.message).toContain(`"${name}" (the framework's own)`);
  });

  test.each(["", "a b", "a.b", "ä", "a".repeat(65)])(
    "PRM-6 a tool cannot be called %j: no provider takes it",
    (name) => {
      expect(caught(() => tool(name))).toBeInstanceOf(DefinitionError);
      expect(caught(() => tool(name)).message).toContain(JSON.stringify(name));
    },
  );

  test("PRM-6 names such as __proto__ and constructor are names like any other", () => {
    const template = definePrompt({
      ns: "a",
      key: "b",
      sections: [{ key: "constructor", tools: [tool("__proto__"), tool("constructor")] }],
    });
    expect(Object.keys(template.descriptor.tools)).toEqual(["__proto__", "constructor"]);
    expect(template.bind({}).render().policiesOf("toString")).toEqual([]);
  });
});

describe("tool definitions", () => {
  test.each([z.string(), z.array(z.string()), z.union([z.string(), z.object({})])])(
    "a tool's input is an object schema, nothing else",
    (input) => {
      const define = () => defineTool({ name: "t", description: "x", input: input as never, execute: () => undefined });
      expect(caught(define)).toBeInstanceOf(DefinitionError);
      expect(caught(define).message).toContain('input of tool "t" must be an object schema');
    },
  );

  test("a tool's input can be written as JSON Schema", () => {
    const input = z.object({ at: z.date() });
    const define = () => defineTool({ name: "t", description: "x", input, execute: () => undefined });
    expect(caught(define).message).toContain("cannot be written as JSON Schema");
    const none = () => defineTool({ name: "t", description: "x", input: {} as never, execute: () => undefined });
    expect(caught(none).message).toContain("must be a Standard Schema");
  });
});

describe("TOOL-4 tool definitions", () => {
  test.each([0, -1, NaN, Infinity])("TOOL-4 a timeout of %d ms is refused", (timeoutMs) => {
    const define = () =>
      defineTool({ name: "t", description: "x", input: z.object({}), timeoutMs, execute: () => undefined });
    expect(caught(define)).toBeInstanceOf(DefinitionError);
    expect(caught(define).message).toContain("timeoutMs");
  });
});
