import { definePrompt, defineTool, DefinitionError } from "@proviso/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const keys = ["constructor", "prototype", "__proto__"] as const;
const refused = (what: string, path: string): RegExp =>
  new RegExp(`^${what} cannot be met: ${path.replaceAll(/[[\].]/gu, "\\$&")} is a key that no JSON may have`, "u");

const tool = (given: object) =>
  defineTool({ name: "t", description: "d", input: z.object({}), execute: () => "", ...given } as never);

function faultOf(define: () => unknown): DefinitionError {
  try {
    define();
  } catch (error) {
    if (error instanceof DefinitionError) return error;
    throw error;
  }
  throw new Error("It was taken.");
}

describe.each(keys)("SEC-2 a schema with the key %s", (key) => {
  const json = { type: "object", properties: JSON.parse(`{"${key}":{"type":"string"}}`) };

  test("SEC-2 TOOL-1 is no tool's input", () => {
    const { message, issues } = faultOf(() => tool({ input: json }));
    expect(message).toMatch(refused('The input of tool "t"', key));
    expect(issues).toEqual([{ path: key, message: expect.stringContaining("no JSON may have") }]);
    expect(faultOf(() => tool({ input: { type: "object", required: [key] } })).message).toMatch(/cannot be met/u);
    const shape = Object.fromEntries([["a", z.string()]]) as Record<string, z.ZodType>;
    Object.defineProperty(shape, key, { value: z.string(), enumerable: true });
    expect(faultOf(() => tool({ input: z.object(shape) })).message).toMatch(refused('The input of tool "t"', key));
  });

  test("SEC-2 OUT-2 is no prompt's output", () => {
    const shape = {} as Record<string, z.ZodType>;
    Object.defineProperty(shape, key, { value: z.string(), enumerable: true });
    const define = () => definePrompt({ key: "p", text: "Go.", output: z.object(shape) });
    expect(faultOf(define).message).toMatch(refused('The output of prompt ".*/p"', key));
  });

  test("SEC-2 TOOL-17 is no output of a prompt's tool", () => {
    const tools = [tool({ output: json })];
    const define = () => definePrompt({ key: "p", sections: [{ key: "t", text: "Go.", tools }] });
    expect(faultOf(define).message).toMatch(refused('The output of tool "t"', key));
  });
});

test.each([
  ["in an object", z.object({ a: z.object({ constructor: z.string() }) }), "a.constructor"],
  ["in a list", z.object({ rows: z.array(z.object({ constructor: z.string() })) }), "rows[].constructor"],
  ["in a union", z.object({ a: z.union([z.string(), z.object({ prototype: z.string() })]) }), "a.prototype"],
  [
    "in a record's values",
    z.object({ a: z.record(z.string(), z.object({ prototype: z.string() })) }),
    "a[key].prototype",
  ],
  ["that is optional", z.object({ constructor: z.string().optional() }), "constructor"],
])("SEC-2 such a key is found %s", (_, input, path) => {
  expect(faultOf(() => tool({ input })).message).toMatch(refused('The input of tool "t"', path));
});

test("SEC-2 what is only called like one, or has such a word as a value, is taken", () => {
  const input = z.object({ constructors: z.string(), kind: z.enum(["constructor", "prototype"]) });
  expect(tool({ input }).name).toBe("t");
  const described = {
    type: "object",
    properties: { required: { type: "array" } },
    $defs: JSON.parse('{"constructor":{}}'),
  };
  expect(tool({ input: described }).name).toBe("t");
});
