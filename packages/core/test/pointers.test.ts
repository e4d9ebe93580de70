import { definePrompt, DefinitionError, defineEvent, defineSlice, defineTool, parseMessages } from "@proviso/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";

function refusal(define: () => unknown): DefinitionError {
  try {
    define();
  } catch (error) {
    if (error instanceof DefinitionError) return error;
    throw error;
  }
  throw new Error("It was taken.");
}
const tool = { name: "t", description: "T.", execute: () => "done" };
const toolOf = (more: object) => defineTool({ ...tool, ...more } as never);
const standard = (vendor: string) => ({
  "~standard": { version: 1, vendor, validate: (value: unknown) => ({ value }) },
});

describe("ERR-5 what a schema found wrong is in issues, and the message names what it is about", () => {
  test("ERR-5 bind", () => {
    const template = definePrompt({
      key: "p",
      params: z.object({ city: z.string(), n: z.number() }),
      text: "{{city}}",
    });
    const error = refusal(() => template.bind({ city: 1, n: 2, x: 3 } as never));
    expect(error.issues.map(({ path }) => path)).toEqual(["city", "x"]);
    expect(error.issues[1]?.message).toBe("unknown key");
    expect(error.message).toMatch(/^The params of "app\/p" do not fit: city: .*; x: unknown key\.$/);
    const bare = refusal(() => definePrompt({ key: "p", text: "x" }).bind({ x: 1 } as never));
    expect(bare.issues).toEqual([{ path: "x", message: "unknown key" }]);
  });

  test("ERR-5 events, initial states and examples", () => {
    const seen = defineEvent("seen", z.object({ at: z.string() }));
    expect(refusal(() => seen({ at: 1 } as never)).issues[0]?.path).toBe("at");
    const slice = () => defineSlice({ name: "s", initial: { n: "x" } as never, schema: z.object({ n: z.number() }) });
    expect(refusal(slice).issues[0]?.path).toBe("n");
    const withExample = toolOf({
      input: z.object({ a: z.string() }),
      examples: [{ description: "E.", input: { a: 1 }, output: "x" }],
    });
    const error = refusal(() => definePrompt({ key: "p", sections: [{ key: "s", text: "x", tools: [withExample] }] }));
    expect(error.message).toContain('Example 1 of tool "t": the input does not fit: a: ');
    expect(error.issues[0]?.path).toBe("a");
  });

  test.each<readonly [what: string, define: () => unknown, message: string, path: string]>([
    [
      "a tool's input",
      () => toolOf({ input: z.object({ rows: z.array(z.object({ at: z.date() })) }) }),
      'The input of tool "t" cannot be written as JSON Schema: rows[].at: Date cannot be represented in JSON Schema. Make it of what JSON has, as z.iso.datetime().transform() does',
      "rows[].at",
    ],
    [
      "a tool's output",
      () =>
        definePrompt({
          key: "p",
          sections: [
            { key: "s", text: "x", tools: [toolOf({ input: z.object({}), output: z.object({ n: z.bigint() }) })] },
          ],
        }),
      'The output of tool "t" cannot be written as JSON Schema: n: BigInt',
      "n",
    ],
    [
      "a prompt's output",
      () => definePrompt({ key: "p", text: "x", output: z.object({ m: z.map(z.string(), z.string()) }) }),
      'The output of prompt "app/p" cannot be written as JSON Schema: m: Map',
      "m",
    ],
  ])("ERR-5 the path of what JSON Schema has no word for: %s", (_, define, message, path) => {
    const error = refusal(define);
    expect(error.message).toContain(message);
    expect(error.issues[0]?.path).toBe(path);
  });

  test("ERR-5 other mistakes have no issues, and a cause stays", () => {
    expect(refusal(() => definePrompt({ key: "P", text: "x" })).issues).toEqual([]);
    const cause = new Error("x");
    expect(new DefinitionError("m", { cause }).cause).toBe(cause);
    expect(Object.keys(new DefinitionError("m"))).not.toContain("cause");
  });
});

describe("ERR-6 an option of another library is refused with the name that it has here", () => {
  test.each<readonly [what: string, define: () => unknown, message: string]>([
    [
      "inputSchema",
      () => toolOf({ inputSchema: z.object({}) }),
      'The tool "t" has no option inputSchema. Did you mean input?',
    ],
    [
      "parameters",
      () => toolOf({ parameters: z.object({}) }),
      'The tool "t" has no option parameters. Did you mean input?',
    ],
    [
      "no schema",
      () => toolOf({}),
      'The input of tool "t" is missing: it must be a Standard Schema that prints JSON Schema, zod 4.2 or later, say.',
    ],
    [
      "a JSON Schema for params",
      () => definePrompt({ key: "p", text: "x", params: { type: "object", properties: {} } as never }),
      "not plain JSON Schema: z.fromJSONSchema(schema) of zod makes one of it.",
    ],
    [
      "jsonSchema()",
      () => toolOf({ input: { jsonSchema: { type: "object" }, validate: undefined } }),
      "not what jsonSchema() of the AI SDK makes",
    ],
    [
      "a shape",
      () => toolOf({ input: { a: z.string(), b: z.number() } }),
      "not an object of schemas: put z.object() around it.",
    ],
    ["valibot", () => toolOf({ input: standard("valibot") }), "toStandardJsonSchema() of @valibot/to-json-schema"],
    ["zod 3", () => toolOf({ input: standard("zod") }), "zod before 4.2 prints none, nor does zod/mini"],
    [
      "a JSON Schema as output",
      () => definePrompt({ key: "p", text: "x", output: { type: "object", properties: {} } as never }),
      'The output of prompt "app/p" must be a Standard Schema',
    ],
    [
      "a JSON Schema as params",
      () => definePrompt({ key: "p", text: "x", params: { type: "object" } as never }),
      "The params of prompt",
    ],
    [
      "z.string()",
      () => definePrompt({ key: "p", text: "x", output: z.string() }),
      'The output of prompt "app/p" takes any text, but would be asked for as JSON: leave output out',
    ],
    [
      "z.string().describe()",
      () => definePrompt({ key: "p", text: "x", output: z.string().describe("A poem.") }),
      "leave output out",
    ],
    [
      "AI SDK messages",
      () => parseMessages([{ role: "user", content: "Hi." }]),
      'messages[0] has content in place of text: it is a message of another library. Here it is { role: "user", text }',
    ],
    [
      "UI messages",
      () => parseMessages([{ id: "1", role: "user", parts: [] }]),
      "messages[0] has parts in place of text",
    ],
  ])("ERR-6 %s", (_, define, message) => {
    expect(refusal(define).message).toContain(message);
  });

  test("ERR-6 an output of texts that asks for more is taken", () => {
    for (const output of [
      z.string().min(3),
      z.enum(["a", "b"]),
      z.string().transform((text) => text.length),
      z.string().refine((text) => text.includes("a")),
      z.iso.date(),
      z.string().refine(() => Promise.reject(new Error("later"))),
    ]) {
      expect(() => definePrompt({ key: "p", text: "x", output })).not.toThrow();
    }
  });
});

test("ERR-6 a schema that prints itself and validates nothing is refused where it is used", () => {
  const only = { "~standard": { version: 1, vendor: "effect", jsonSchema: { input: () => ({}), output: () => ({}) } } };
  const message =
    "and this one of effect only prints it, and validates nothing: put Schema.toStandardSchemaV1() around it as well";
  expect(refusal(() => toolOf({ input: only })).message).toContain(message);
  expect(refusal(() => definePrompt({ key: "p", output: only as never, text: "x" })).message).toContain(message);
  expect(refusal(() => definePrompt({ key: "p", params: only as never, text: "x" })).message).toContain(message);
});
