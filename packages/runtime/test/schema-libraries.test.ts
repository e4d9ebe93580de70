import { definePrompt, defineTool, type Schema } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { promptWith } from "./support.ts";

const valibot = (schema: v.GenericSchema): Schema => toStandardJsonSchema(schema) as unknown as Schema;
const text = { a: v.string() };
const number = { b: v.number() };
const Known = z.object({ a: z.string() });
const inner = { a: "s", in: { b: 1, z: 1 } };

/** What the model sends, and the value that the schema makes of it, or the paths of the keys that are refused. */
type Case = readonly [string, Schema, object, { readonly value: unknown } | { readonly refused: readonly string[] }];

const kept: readonly Case[] = [
  ["a loose object", z.looseObject({ a: z.string() }), { a: "s", n: 1 }, { value: { a: "s", n: 1 } }],
  [
    "an intersection of loose objects",
    z.intersection(z.looseObject({ a: z.string() }), z.looseObject({ b: z.number() })),
    { a: "s", b: 1, n: 1 },
    { value: { a: "s", b: 1, n: 1 } },
  ],
  ["a record", z.record(z.string(), z.number()), { n: 1 }, { value: { n: 1 } }],
  [
    "a union that takes the record",
    z.union([Known, z.record(z.string(), z.number())]),
    { n: 1, m: 2 },
    { value: { n: 1, m: 2 } },
  ],
  [
    "a union that takes the loose object",
    z.union([z.strictObject({ a: z.string() }), z.looseObject({ a: z.string() })]),
    { a: "s", n: 1 },
    { value: { a: "s", n: 1 } },
  ],
  ["valibot: a loose object", valibot(v.looseObject(text)), { a: "s", n: 1 }, { value: { a: "s", n: 1 } }],
  [
    "valibot: a loose object within",
    valibot(v.object({ a: v.string(), in: v.looseObject(number) })),
    inner,
    { value: inner },
  ],
  [
    "valibot: an intersection of loose objects",
    valibot(v.intersect([v.looseObject(text), v.looseObject(number)])),
    { a: "s", b: 1, n: 1 },
    { value: { a: "s", b: 1, n: 1 } },
  ],
  [
    "valibot: an object with a rest",
    valibot(v.objectWithRest(text, v.number())),
    { a: "s", n: 1 },
    { value: { a: "s", n: 1 } },
  ],
  ["valibot: a record", valibot(v.record(v.string(), v.number())), { n: 1 }, { value: { n: 1 } }],
  [
    "arktype: an object, which keeps keys by default",
    type({ a: "string" }),
    { a: "s", n: 1 },
    { value: { a: "s", n: 1 } },
  ],
  ["arktype: a record", type({ "[string]": "number" }), { n: 1 }, { value: { n: 1 } }],
  ["arktype: a union", type({ a: "string" }).or({ b: "number" }), { b: 1, n: 1 }, { value: { b: 1, n: 1 } }],
];

const dropped: readonly Case[] = [
  ["an object", Known, { a: "s", n: 1 }, { refused: ["n"] }],
  [
    "a strict object",
    z.object({ list: z.array(z.object({ a: z.string() })) }),
    { list: [{ a: "s" }, { a: "s", n: 1 }] },
    { refused: ["list.1.n"] },
  ],
  [
    "a union that takes the object",
    z.union([Known, z.record(z.string(), z.number())]),
    { a: "s", n: 1 },
    { refused: ["n"] },
  ],
  ["a union with any record", z.union([Known, z.record(z.string(), z.any())]), { a: "s", n: 1 }, { refused: ["n"] }],
  [
    "a union with any value",
    z.union([z.object({ in: Known }), z.object({ in: z.any() })]),
    { in: { a: "s", n: 1 } },
    { refused: ["in.n"] },
  ],
  [
    "a union whose other branch names the key, but was not taken",
    z.union([Known, z.object({ b: z.number() })]),
    { a: "s", b: 1 },
    { refused: ["b"] },
  ],
  ["an intersection", z.intersection(Known, z.object({ b: z.number() })), { a: "s", b: 1, n: 1 }, { refused: ["n"] }],
  ["valibot: an object", valibot(v.object(text)), { a: "s", n: 1 }, { refused: ["n"] }],
  [
    "valibot: an object within",
    valibot(v.object({ a: v.string(), in: v.object(number) })),
    inner,
    { refused: ["in.z"] },
  ],
  [
    "valibot: an intersection",
    valibot(v.intersect([v.object(text), v.object(number)])),
    { a: "s", b: 1, n: 1 },
    { refused: ["n"] },
  ],
  [
    "valibot: a union with a record",
    valibot(v.union([v.object(text), v.record(v.string(), v.number())])),
    { a: "s", n: 1 },
    { refused: ["n"] },
  ],
  ["arktype: an object that deletes keys", type({ "+": "delete", a: "string" }), { a: "s", n: 1 }, { refused: ["n"] }],
];

class Thing {
  readonly a: string;
  constructor(a: string) {
    this.a = a;
  }
}
const transformed: readonly Case[] = [
  ["another name", z.object({ a: z.string() }).transform(({ a }) => ({ b: a })), { a: "s" }, { value: { b: "s" } }],
  [
    "another name, with an unknown key, which zod's JSON Schema tells",
    z.object({ a: z.string() }).transform(({ a }) => ({ b: a })),
    { a: "s", n: 1 },
    { refused: ["n"] },
  ],
  [
    "an object moved up",
    z.object({ in: z.object({ a: z.string() }) }).transform((o) => o.in),
    { in: { a: "s" } },
    { value: { a: "s" } },
  ],
  ["numbers of texts", z.object({ n: z.coerce.number() }), { n: "5" }, { value: { n: 5 } }],
  [
    "defaults",
    z.object({ a: z.string().default("d"), in: z.object({ b: z.number().default(1) }).default({ b: 2 }) }),
    { in: {} },
    { value: { a: "d", in: { b: 1 } } },
  ],
  [
    "an instance",
    z.object({ a: z.string() }).transform(({ a }) => new Thing(a)),
    { a: "s" },
    { value: new Thing("s") },
  ],
  [
    "a set of a list",
    z.object({ list: z.array(Known).transform((items) => new Set(items.map(({ a }) => a))) }),
    { list: [{ a: "s" }] },
    { value: { list: new Set(["s"]) } },
  ],
  [
    "fewer items",
    z.object({ list: z.array(Known).transform((items) => items.slice(1)) }),
    { list: [{ a: "s" }, { a: "t" }] },
    { value: { list: [{ a: "t" }] } },
  ],
  [
    "what was taken apart before",
    z.preprocess((o) => ({ a: (o as { b: string }).b }), Known),
    { b: "s" },
    { value: { a: "s" } },
  ],
  [
    "a union's branch that gives back fewer keys",
    z.union([z.object({ a: z.string(), n: z.number() }).transform(({ a }) => ({ a })), Known]),
    { a: "s", n: 1 },
    { value: { a: "s" } },
  ],
  [
    "valibot: the rest under one key",
    valibot(
      v.pipe(
        v.looseObject(text),
        v.transform(({ a, ...rest }) => ({ a, rest })),
      ),
    ),
    { a: "s", n: 1 },
    { value: { a: "s", rest: { n: 1 } } },
  ],
  [
    "valibot: an instance of a loose object",
    valibot(
      v.pipe(
        v.looseObject(text),
        v.transform(({ a }) => new Thing(a)),
      ),
    ),
    { a: "s", n: 1 },
    { value: new Thing("s") },
  ],
  [
    "valibot: another name",
    valibot(
      v.pipe(
        v.object(text),
        v.transform(({ a }) => ({ b: a })),
      ),
    ),
    { a: "s" },
    { value: { b: "s" } },
  ],
  ["arktype: another name", type({ a: "string" }).pipe(({ a }) => ({ b: a })), { a: "s", n: 1 }, { value: { b: "s" } }],
];

/** A tool's arguments are an object, a union is none. */
function under<T>(
  key: string,
  { "~standard": { vendor, validate, jsonSchema } }: Schema<unknown, T>,
): Schema<unknown, Readonly<Record<string, T>>> {
  const wrapped = (side: "input" | "output") => (options: Parameters<typeof jsonSchema.input>[0]) => {
    const { $schema: _, ...json } = jsonSchema[side](options);
    return { type: "object", properties: { [key]: json }, required: [key] };
  };
  return {
    "~standard": {
      version: 1,
      vendor,
      async validate(value) {
        const result = await validate((value as Readonly<Record<string, unknown>>)[key]);
        return result.issues === undefined ? { value: { [key]: result.value } } : result;
      },
      jsonSchema: { input: wrapped("input"), output: wrapped("output") },
    },
  };
}

const pathsIn = (message: string): readonly string[] =>
  message.split("; ").flatMap((issue) => /it\.([^\s:]+): unknown key/.exec(issue)?.[1] ?? []);

describe.each([
  ["keeps", kept],
  ["drops", dropped],
  ["transforms", transformed],
])("what validation %s", (_, cases) => {
  test.each(cases)("TOOL-2 in a tool's arguments: %s", async (_name, input, sent, expected) => {
    const seen: unknown[] = [];
    const tool = defineTool({
      name: "take",
      description: "Takes it.",
      input: under("it", input),
      execute: ({ it }) => void seen.push(it),
    });
    const model = scriptedModel([{ toolCalls: [{ name: "take", arguments: { it: sent } }] }, { text: "done" }]);
    const { toolResults } = await modelAdapter(model, fakeEnvironment()).evaluate(promptWith(tool));
    const result = toolResults[0]?.result;
    const refused = result?.success === false ? { refused: pathsIn(result.message) } : undefined;
    expect(refused ?? { value: seen[0] }).toEqual(expected);
  });

  test.each(cases)("OUT-2 in an answer: %s", async (_name, output, sent, expected) => {
    const prompt = definePrompt({ ns: "tests", key: "take", output, text: "Answer." }).bind({});
    const model = scriptedModel([{ text: JSON.stringify(sent) }]);
    const outcome = await modelAdapter(model, fakeEnvironment())
      .evaluate(prompt)
      .then(
        (response) => ({ value: response.output }),
        (error: { readonly issues: readonly { readonly path: string }[] }) => ({
          refused: error.issues.map(({ path }) => path),
        }),
      );
    expect(outcome).toEqual(expected);
  });
});

test("OUT-4 TOOL-2 the schema of a tool and of an output shows what is refused; of libraries other than zod, what they print", async () => {
  const input = z.object({ path: z.string(), from: z.object({ line: z.number() }).optional() });
  const tool = defineTool({ name: "t", description: "T.", input, execute: () => 1 });
  const loose = v.looseObject({ a: v.string() });
  const other = defineTool({ name: "o", description: "O.", input: toStandardJsonSchema(loose), execute: () => 1 });
  const prompt = definePrompt({
    key: "p",
    output: z.array(z.object({ title: z.string().optional() })),
    sections: [{ key: "s", text: "Go.", tools: [tool, other] }],
  }).bind();
  const model = scriptedModel([{ output: [] }]);
  await modelAdapter(model).evaluate(prompt);
  const [request] = model.requests;
  expect(request?.tools[0]?.inputSchema).toMatchObject({
    additionalProperties: false,
    properties: { from: { additionalProperties: false } },
  });
  expect(request?.tools[1]?.inputSchema).not.toHaveProperty("additionalProperties");
  expect(request?.output?.schema).toMatchObject({
    properties: { items: { items: { properties: { title: {} }, additionalProperties: false } } },
  });
});
