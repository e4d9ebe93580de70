import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { JsonSchema } from "@proviso/core";
import { isRecursive, jsonSchemaOf, strictSchema, type StrictSchema } from "@proviso/core/provider";

const strictOf = (schema: z.ZodType): StrictSchema | undefined => strictSchema(jsonSchemaOf(schema, "input"));
const made = (schema: z.ZodType): StrictSchema => {
  const strict = strictOf(schema);
  if (strict === undefined) throw new Error("not strict");
  return strict;
};
/** Every object in it, as a strict provider checks it. */
const objectsIn = (schema: unknown): readonly JsonSchema[] => {
  if (typeof schema !== "object" || schema === null) return [];
  const own = [(schema as JsonSchema)["type"]].flat().includes("object") ? [schema as JsonSchema] : [];
  return [...own, ...Object.values(schema).flatMap(objectsIn)];
};

const Tree = z.object({
  v: z.number(),
  get kids() {
    return z.array(Tree).optional();
  },
});
const Named = z.object({ s: z.string().optional() }).meta({ id: "StrictNamed" });
const MayBeNull = z.string().nullable().meta({ id: "StrictMayBeNull" });
const Kind = z.discriminatedUnion("kind", [
  z.object({ kind: z.enum(["a", "b"]), x: z.string().optional() }),
  z.object({ kind: z.literal("c"), x: z.string().nullable() }),
]);
const Card = z.object({ kind: z.literal("card"), number: z.string(), holder: z.string().optional() });
const Bank = z.object({ kind: z.literal("bank"), iban: z.string(), holder: z.string().optional() });
const Cash = z.object({ kind: z.literal("cash"), note: z.string().optional() });
const Electronic = z.union([Card, Bank]).meta({ id: "StrictElectronic" });
const Nest = z.object({
  get kids() {
    return z.array(z.union([Nest, z.object({ leaf: z.string().nullable() })])).optional();
  },
});
const toBank = { pay: { kind: "bank", iban: "1", holder: null } };
const fromBank = { pay: { kind: "bank", iban: "1" } };

describe("OUT-4 strict schemas", () => {
  test("OUT-4 a reference stands alone, keywords beside it go around it", () => {
    const { schema } = made(
      z.object({ first: Named.describe("the first"), next: Named.describe("the next").optional(), plain: Named }),
    );
    const named = { $ref: "#/$defs/StrictNamed" };
    expect(schema["properties"]).toEqual({
      first: { anyOf: [named], description: "the first" },
      next: { anyOf: [named, { type: "null" }], description: "the next" },
      plain: named,
    });
  });

  test("OUT-4 all keys are required, optional ones nullable, and no others allowed", () => {
    const schema = z.object({ a: z.string(), b: z.number().optional(), c: z.object({ d: z.boolean().optional() }) });
    expect(made(schema).schema).toEqual({
      type: "object",
      properties: {
        a: { type: "string" },
        b: { type: ["number", "null"] },
        c: {
          type: "object",
          properties: { d: { type: ["boolean", "null"] } },
          required: ["d"],
          additionalProperties: false,
        },
      },
      required: ["a", "b", "c"],
      additionalProperties: false,
    });
  });

  test("OUT-4 holds at every depth: arrays, unions, definitions, recursion", () => {
    const schema = z.object({ list: z.array(z.object({ a: z.string().optional() })), Named, kind: Kind, tree: Tree });
    const objects = objectsIn(made(schema).schema);
    expect(objects.length).toBeGreaterThan(5);
    for (const object of objects) {
      expect(object["additionalProperties"]).toBe(false);
      expect(object["required"]).toEqual(Object.keys(object["properties"] as object));
    }
  });

  test("OUT-4 oneOf is sent as anyOf, a constant as an enum of one", () => {
    const text = JSON.stringify(made(z.object({ kind: Kind })).schema);
    expect(text).not.toContain("oneOf");
    expect(text).not.toContain('"const"');
    expect(text).toContain('"enum":["c"]');
  });

  test.each<[string, z.ZodType, unknown]>([
    ["a type", z.string(), { type: ["string", "null"] }],
    ["an enum", z.enum(["a"]), { anyOf: [{ type: "string", enum: ["a"] }, { type: "null" }] }],
    ["several types", z.union([z.string(), z.number()]), { type: ["string", "number", "null"] }],
    ["what is nullable", z.string().nullable(), { type: ["string", "null"] }],
    [
      "a union",
      z.union([z.enum(["a"]), z.number()]),
      { anyOf: [{ type: "string", enum: ["a"] }, { type: "number" }, { type: "null" }] },
    ],
    ["null", z.null(), { type: "null" }],
  ])("OUT-4 %s is made nullable once", (_, schema, expected) => {
    expect(made(z.object({ a: schema.optional() })).schema["properties"]).toEqual({ a: expected });
  });

  test("OUT-4 an object of which null is a type, too, keeps its keys", () => {
    const { schema } = strictSchema({
      type: "object",
      properties: { a: { type: ["object", "null"], properties: { b: { type: "string" } } } },
    }) as StrictSchema;
    expect(schema["properties"]).toEqual({
      a: {
        type: ["object", "null"],
        properties: { b: { type: ["string", "null"] } },
        required: ["b"],
        additionalProperties: false,
      },
    });
  });

  test("OUT-4 a description stays with its property", () => {
    const schema = z.object({ a: z.enum(["x"]).describe("said").optional() });
    expect(made(schema).schema["properties"]).toEqual({
      a: { anyOf: [{ type: "string", enum: ["x"] }, { type: "null" }], description: "said" },
    });
  });

  test("OUT-4 what not every strict service takes stands in the description", () => {
    const schema = z.object({
      a: z.string().min(1).max(9).describe("A name."),
      b: z.url(),
      c: z.string().default("x"),
      d: z.iso.datetime(),
      e: z
        .enum(["x"])
        .meta({ title: "E", examples: ["x"] })
        .optional(),
      f: Named.default({}),
      g: z.string().regex(/^(?!a)\d$/),
      h: z.string().regex(/^[(?=]\(?!$/),
    });
    expect(made(schema).schema["properties"]).toEqual({
      a: { type: "string", description: "A name.\nmin length: 1; max length: 9." },
      b: { type: "string", description: "format: uri." },
      c: { type: ["string", "null"], description: 'default: "x".' },
      d: expect.objectContaining({ type: "string", format: "date-time" }),
      e: {
        anyOf: [{ type: "string", title: "E", enum: ["x"] }, { type: "null" }],
        description: 'examples: ["x"].',
      },
      f: { anyOf: [{ $ref: "#/$defs/StrictNamed" }, { type: "null" }], description: "default: {}." },
      g: { type: "string", description: "pattern: ^(?!a)\\d$." },
      h: { type: "string", pattern: "^[(?=]\\(?!$" },
    });
  });

  test("OUT-4 what the service would pass over stands in the description, too", () => {
    const json = jsonSchemaOf(z.object({ a: z.string().regex(/^a/), b: z.number().min(1).lt(9) }), "input");
    expect(strictSchema(json, new Set(["pattern", "exclusiveMaximum"]))?.schema["properties"]).toEqual({
      a: { type: "string", description: "pattern: ^a." },
      b: { type: "number", minimum: 1, description: "exclusive maximum: 9." },
    });
    const unique = { type: "object", properties: { a: { type: "array", items: { type: "null" }, uniqueItems: true } } };
    expect(strictSchema(unique, new Set(["uniqueItems"]))).toBeUndefined();
  });

  test("OUT-4 a tuple is a list of what its places take, and the description says which takes what", () => {
    const schema = z.object({
      pair: z.tuple([z.number(), z.string().max(3)]).describe("Both."),
      point: z.tuple([z.number(), z.number()]),
      rest: z.tuple([z.number()]).rest(z.string()),
    });
    const brief = { type: "string", description: "max length: 3." };
    expect(made(schema).schema["properties"]).toEqual({
      pair: {
        type: "array",
        minItems: 2,
        maxItems: 2,
        items: { anyOf: [{ type: "number" }, brief] },
        description: `Both.\nprefix items: ${JSON.stringify([{ type: "number" }, brief])}.`,
      },
      point: { type: "array", minItems: 2, maxItems: 2, items: { type: "number" } },
      rest: {
        type: "array",
        minItems: 1,
        items: { anyOf: [{ type: "number" }, { type: "string" }] },
        description: 'prefix items: [{"type":"number"}]; further items: {"type":"string"}.',
      },
    });
  });

  test.each<[string, z.ZodType]>([
    ["a record", z.object({ r: z.record(z.string(), z.string()) })],
    ["a tuple that ends in anything", z.object({ t: z.tuple([z.string()], z.unknown()) })],
    ["a tuple of nothing", z.object({ t: z.tuple([]) })],
    ["a loose object", z.looseObject({ a: z.string() })],
    ["a loose object within", z.object({ a: z.array(z.looseObject({})) })],
    ["a catchall", z.object({}).catchall(z.string())],
    ["anything", z.object({ a: z.any() })],
    ["an array of anything", z.object({ a: z.array(z.unknown()) })],
    ["an intersection", z.object({ a: z.object({ x: z.string() }).and(z.unknown()) })],
    ["a root that is an array", z.array(z.string())],
    ["a root that is a union", z.union([z.object({}), z.object({ a: z.string() })])],
    ["a root that is a value", z.string()],
  ])("OUT-4 %s cannot be strict", (_, schema) => {
    expect(strictOf(schema)).toBeUndefined();
  });

  test("OUT-4 recursion by references is strict", () => {
    const { schema } = made(Tree);
    expect(schema["properties"]).toMatchObject({ kids: { items: { $ref: "#" } } });
    const shared = made(z.object({ a: Named, b: Named.optional() })).schema;
    expect(shared).toMatchObject({
      properties: {
        a: { $ref: "#/$defs/StrictNamed" },
        b: { anyOf: [{ $ref: "#/$defs/StrictNamed" }, { type: "null" }] },
      },
      $defs: { StrictNamed: { additionalProperties: false, required: ["s"] } },
    });
  });

  test("OUT-4 the schema it was made of is not changed", () => {
    const json = structuredClone(jsonSchemaOf(z.object({ a: z.string().optional(), k: Kind }), "input"));
    const before = JSON.stringify(json);
    strictSchema(json)?.restore({ a: null, k: { kind: "a", x: null } });
    expect(JSON.stringify(json)).toBe(before);
  });
});

describe("OUT-4 the way back", () => {
  test.each<[string, z.ZodType, unknown, unknown]>([
    ["an absent key", z.object({ a: z.string().optional(), b: z.string() }), { a: null, b: "x" }, { b: "x" }],
    ["a default", z.object({ a: z.string().default("d") }), { a: null }, {}],
    ["a nullable key", z.object({ a: z.string().nullable() }), { a: null }, { a: null }],
    ["a key by a nullable definition", z.object({ a: MayBeNull }), { a: null }, { a: null }],
    ["an optional nullable key", z.object({ a: z.string().nullish() }), { a: null }, { a: null }],
    ["a nested key", z.object({ o: z.object({ a: z.string().optional() }) }), { o: { a: null } }, { o: {} }],
    [
      "items",
      z.object({ l: z.array(z.object({ a: z.string().optional() })) }),
      { l: [{ a: null }, { a: "x" }] },
      { l: [{}, { a: "x" }] },
    ],
    [
      "a tuple",
      z.object({ t: z.tuple([z.object({ a: z.string().optional() })]).rest(z.object({ a: z.string().nullable() })) }),
      { t: [{ a: null }, { a: null }] },
      { t: [{}, { a: null }] },
    ],
    [
      "a union of tuples",
      z.object({
        u: z.union([
          z.tuple([z.literal("a"), z.object({ n: z.string().optional() })]),
          z.tuple([z.literal("b"), z.object({ n: z.string().nullable() })]),
        ]),
      }),
      { u: ["b", { n: null }] },
      { u: ["b", { n: null }] },
    ],
    [
      "a union of a longer tuple and a shorter one",
      z.object({
        u: z.union([
          z.tuple([z.object({ a: z.string().optional() }), z.number()]),
          z.tuple([z.object({ a: z.string().nullable() })]),
        ]),
      }),
      { u: [{ a: null }] },
      { u: [{ a: null }] },
    ],
    [
      "a union of a list that is not to be so long and one that is",
      z.object({
        u: z.union([
          z.array(z.object({ a: z.string().optional() })).max(1),
          z.array(z.object({ a: z.string().nullable() })),
        ]),
      }),
      { u: [{ a: null }, { a: null }] },
      { u: [{ a: null }, { a: null }] },
    ],
    ["recursion", Tree, { v: 1, kids: [{ v: 2, kids: null }] }, { v: 1, kids: [{ v: 2 }] }],
    ["a shared definition", z.object({ a: Named, b: Named.optional() }), { a: { s: null }, b: null }, { a: {} }],
    ["a union by an enum", z.object({ k: Kind }), { k: { kind: "b", x: null } }, { k: { kind: "b" } }],
    ["a union by a constant", z.object({ k: Kind }), { k: { kind: "c", x: null } }, { k: { kind: "c", x: null } }],
    [
      "an optional discriminator",
      z.object({ u: z.union([z.object({ k: z.literal("a").optional(), y: z.string() }), z.null()]) }),
      { u: { k: null, y: "" } },
      { u: { y: "" } },
    ],
    ["a union that may be null", z.object({ pay: z.union([Card, Bank]).nullable() }), toBank, fromBank],
    ["a union by a constant that may be null", z.object({ pay: Kind.nullish() }), { pay: null }, { pay: null }],
    ["a union in a union", z.object({ pay: z.union([z.union([Card, Bank]), Cash]) }), toBank, fromBank],
    ["a shared union in a union", z.object({ pay: z.union([Electronic, Cash]) }), toBank, fromBank],
    ["a shared union that may be null", z.object({ pay: Electronic.nullable() }), toBank, fromBank],
    ["an optional key by a nullable definition", z.object({ a: MayBeNull.optional() }), { a: null }, { a: null }],
    [
      "a union of lists",
      z.object({ l: z.union([z.array(z.object({ p: z.string() })), z.array(z.object({ q: z.string().nullable() }))]) }),
      { l: [{ q: null }] },
      { l: [{ q: null }] },
    ],
    [
      "a union of objects that differ in a type",
      z.object({
        u: z.union([
          z.object({ v: z.string(), n: z.string().optional() }),
          z.object({ v: z.int(), n: z.string().nullable() }),
        ]),
      }),
      { u: { v: 1, n: null } },
      { u: { v: 1, n: null } },
    ],
    [
      "a union of objects that differ in the words of a list",
      z.object({
        u: z.union([
          z.object({ v: z.array(z.enum(["a", "b"])), n: z.string().optional() }),
          z.object({ v: z.array(z.enum(["b", "c"])), n: z.string().nullable() }),
        ]),
      }),
      { u: { v: ["b", "c"], n: null } },
      { u: { v: ["b", "c"], n: null } },
    ],
    [
      "a union of objects that differ in the constant of a list",
      z.object({
        u: z.union([
          z.object({ v: z.array(z.literal("a")), n: z.string().optional() }),
          z.object({ v: z.array(z.literal("b")), n: z.string().nullable() }),
        ]),
      }),
      { u: { v: ["b"], n: null } },
      { u: { v: ["b"], n: null } },
    ],
    [
      "a union in recursion",
      Nest,
      { kids: [{ kids: null }, { kids: [{ leaf: null }] }] },
      { kids: [{}, { kids: [{ leaf: null }] }] },
    ],
    ["what is not an object", z.object({}), "text", "text"],
    ["null itself", z.object({}), null, null],
  ])("OUT-4 %s comes back as the schema wants it", (_, schema, answer, expected) => {
    expect(made(schema).restore(answer)).toEqual(expected);
    if (typeof expected === "object" && expected !== null) expect(schema.safeParse(expected).success).toBe(true);
  });

  test("OUT-4 a union that refers to itself alone leaves the answer as it is", () => {
    const circle = { $ref: "#/$defs/A" };
    const strict = strictSchema({
      type: "object",
      properties: { a: circle },
      required: ["a"],
      $defs: { A: { anyOf: [circle] } },
    });
    expect(strict?.restore({ a: { b: null } })).toEqual({ a: { b: null } });
  });

  test("OUT-4 LIM-9 an answer that fits no branch of nested unions is looked through once, not once for each way", () => {
    const branch = (last: object) => ({ type: "object", properties: { a: { $ref: "#/$defs/U" }, ...last } });
    const strict = strictSchema({
      type: "object",
      properties: { a: { $ref: "#/$defs/U" } },
      $defs: {
        U: {
          anyOf: [branch({ b: { type: "string" } }), branch({ b: { type: ["string", "null"] } }), { type: "null" }],
        },
      },
    });
    const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1), b: "x" });
    expect(strict?.restore(nested(60))).toEqual(nested(60));
  });

  test("OUT-4 of words without a type null is an absent key, unless it is one of them", () => {
    const strict = strictSchema({
      type: "object",
      properties: { a: { enum: ["x"] }, b: { enum: ["x", null] }, c: { const: "x" } },
    });
    const orNull = { anyOf: [{ enum: ["x"] }, { type: "null" }] };
    expect(strict?.schema["properties"]).toEqual({ a: orNull, b: { enum: ["x", null] }, c: orNull });
    expect(strict?.restore({ a: null, b: null, c: null })).toEqual({ b: null });
  });

  test("OUT-4 keys that the schema does not name are left for the validation to refuse", () => {
    expect(made(z.object({ a: z.string().optional() })).restore({ a: null, z: 1 })).toEqual({ z: 1 });
  });
});

describe("OUT-4 a tuple where a service takes `prefixItems`", () => {
  const tuplesOf = (schema: z.ZodType) =>
    strictSchema(jsonSchemaOf(z.object({ t: schema }), "input"), new Set(["pattern"]))?.schema["properties"];

  test("OUT-4 keeps the order of its places, and each of them is strict", () => {
    const named = z.object({ name: z.string().optional() });
    const strict = {
      type: "object",
      properties: { name: { type: ["string", "null"] } },
      required: ["name"],
      additionalProperties: false,
    };
    expect(tuplesOf(z.tuple([named, z.number()]))).toEqual({
      t: { type: "array", prefixItems: [strict, { type: "number" }], minItems: 2, maxItems: 2 },
    });
    expect(tuplesOf(z.tuple([z.number()]).rest(named))).toMatchObject({
      t: { prefixItems: [{ type: "number" }], items: strict },
    });
    expect(tuplesOf(z.tuple([z.string()], z.unknown()))).toBeUndefined();
  });
});

test("OUT-4 AIS-10 a schema with a property that has the name of a keyword is recursive like any other", () => {
  for (const name of ["definitions", "$defs", "properties", "$ref", "items"]) {
    const below = (items: JsonSchema) => ({ type: "object", properties: { [name]: { type: "array", items } } });
    expect([name, isRecursive(below({ $ref: "#" })), isRecursive(below({ type: "string" }))]).toEqual([
      name,
      true,
      false,
    ]);
  }
  const unused = { type: "object", properties: {}, $defs: { A: { $ref: "#/$defs/A" } } };
  expect(isRecursive(unused)).toBe(false);
});
