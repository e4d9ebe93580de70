import { definePrompt } from "@proviso/core";
import { sentSchemaOf } from "@proviso/core/internal";
import { expect, test } from "vitest";
import { z } from "zod";

const leaf = z.object({ x: z.string(), y: z.string().optional() });

test("OUT-4 TOOL-2 an object that takes no further keys says so, at every depth", () => {
  const sent = sentSchemaOf(
    z.object({
      one: leaf.optional(),
      list: z.array(leaf),
      either: z.union([leaf, z.object({ z: z.number() })]),
      byName: z.record(z.string(), leaf),
      pair: z.tuple([leaf, z.string()]),
      nothing: z.object({}),
    }),
  );
  const closedLeaf = { type: "object", required: ["x"], additionalProperties: false };
  expect(sent).toMatchObject({
    additionalProperties: false,
    properties: {
      one: closedLeaf,
      list: { items: closedLeaf },
      either: { anyOf: [closedLeaf, { additionalProperties: false }] },
      byName: { additionalProperties: closedLeaf },
      pair: { prefixItems: [closedLeaf, {}] },
      nothing: { additionalProperties: false },
    },
  });
});

test("OUT-4 TOOL-2 one that takes them says nothing else than before", () => {
  for (const schema of [z.looseObject({ a: z.string() }), z.object({ a: z.string() }).catchall(z.number())]) {
    const { $schema: _, ...printed } = z.toJSONSchema(schema, { io: "input" });
    expect(sentSchemaOf(schema)).toEqual(printed);
  }
  expect(sentSchemaOf(z.object({ a: z.looseObject({}) }))).toMatchObject({
    properties: { a: { additionalProperties: {} } },
  });
});

test("OUT-4 the branches of an intersection do not refuse each other's keys", () => {
  const named = z.object({ a: z.string() }).meta({ id: "sent-schema-a" });
  const both = named.and(z.object({ b: z.string() }));
  const sent = sentSchemaOf(z.object({ both, alone: leaf }));
  expect(JSON.stringify(sent["$defs"])).not.toContain("additionalProperties");
  expect(JSON.stringify((sent["properties"] as { both: unknown }).both)).not.toContain("additionalProperties");
  expect(sent).toMatchObject({ additionalProperties: false, properties: { alone: { additionalProperties: false } } });
});

test("OUT-4 recursion, named parts and properties called like keywords are kept", () => {
  const node: z.ZodType = z.object({
    value: z.string(),
    get kids() {
      return z.array(node);
    },
  });
  expect(sentSchemaOf(node)).toMatchObject({
    additionalProperties: false,
    properties: { kids: { items: { $ref: "#" } } },
  });
  const named = z.object({ a: z.string() }).meta({ id: "sent-schema-b" });
  const odd = z.object({ items: named, properties: named, additionalProperties: z.string(), allOf: named });
  expect(sentSchemaOf(odd)).toMatchObject({
    additionalProperties: false,
    $defs: { "sent-schema-b": { additionalProperties: false } },
    properties: { additionalProperties: { type: "string" } },
  });
});

test("OUT-4 a schema is made once", () => {
  expect(sentSchemaOf(leaf)).toBe(sentSchemaOf(leaf));
});

test("OUT-6 OUT-4 the text instructions say what is refused", () => {
  const prompt = definePrompt({ key: "p", output: leaf, outputInstructions: true, text: "Go." }).bind();
  expect(prompt.render().text).toContain('"additionalProperties":false');
});
