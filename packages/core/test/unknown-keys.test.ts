import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { JsonSchema, Schema } from "@proviso/core";
import { describeIssues, parseWithSchema, parseWithSchemaSync } from "@proviso/core/internal";

const unknownIn = async (schema: Schema, value: unknown): Promise<readonly string[]> => {
  const result = await parseWithSchema(schema, value);
  return result.ok ? [] : result.issues.filter(({ message }) => message === "unknown key").map(({ path }) => path);
};
const Leaf = z.object({ x: z.string().optional() });
const Tree = z.object({
  v: z.number(),
  get kids() {
    return z.array(Tree).optional();
  },
});
const Named = z.object({ s: z.string() }).meta({ id: "UnknownKeysNamed" });
const Kind = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("a"), a: z.string() }),
  z.object({ kind: z.enum(["b", "c"]), b: z.string().optional() }),
]);

const objectOf = (key: string): JsonSchema => ({ type: "object", properties: { [key]: { type: "string" } } });
/** Of a library that drops these keys, and keeps all others. */
const dropping = (json: JsonSchema, paths: readonly string[] = []): Schema => ({
  "~standard": {
    version: 1,
    vendor: "tests",
    validate: (value) => ({ value: without(value, paths) }),
    jsonSchema: { input: () => json, output: () => json },
  },
});
const without = (value: unknown, paths: readonly string[]): unknown => {
  const copy = structuredClone(value);
  for (const path of paths) {
    const names = path.split(".");
    const last = names.pop() as string;
    const at = names.reduce<unknown>((inner, name) => (inner as Record<string, unknown>)[name], copy);
    delete (at as Record<string, unknown>)[last];
  }
  return copy;
};

describe("TOOL-2 unknown keys", () => {
  test.each<[string, JsonSchema, unknown, readonly string[]]>([
    ["a union", { oneOf: [objectOf("a"), objectOf("b")] }, { kind: "", b: "", y: "" }, ["y"]],
    ["a reference", { $ref: "#/$defs/B", $defs: { B: objectOf("b") } }, { kind: "", b: "", y: "" }, ["y"]],
    ["an intersection", { allOf: [objectOf("a"), objectOf("b")] }, { kind: "", a: "", b: "", y: "" }, ["y"]],
    [
      "patterns",
      { patternProperties: { "^x_": objectOf("a") }, additionalProperties: false },
      { kind: "", x_1: { a: "", z: "" }, y: "" },
      ["x_1.z", "y"],
    ],
  ])("TOOL-2 keys named beside %s are known", async (_, beside, value, expected) => {
    const json = { ...objectOf("kind"), ...beside };
    expect(await unknownIn(dropping(json, expected), value)).toEqual(expected);
    expect(await unknownIn(dropping(json), value)).toEqual([]);
  });

  test("TOOL-2 a record whose keys have a pattern, and is loose beside it, takes them", async () => {
    const phones = z.object({ name: z.string() }).and(z.looseRecord(z.string().regex(/_phone$/), Leaf));
    expect(await unknownIn(phones, { name: "", home_phone: { x: "" } })).toEqual([]);
    expect(await unknownIn(z.looseRecord(z.string().regex(/_phone$/), Leaf), { home_phone: { x: "", y: "" } })).toEqual(
      ["home_phone.y"],
    );
  });

  test.each<[string, Schema, unknown, readonly string[]]>([
    ["the root", Leaf, { y: 1 }, ["y"]],
    ["a nested object", z.object({ a: z.object({ b: Leaf }) }), { a: { b: { y: 1 }, c: 1 } }, ["a.b.y", "a.c"]],
    ["an optional object", z.object({ a: Leaf.optional() }), { a: { y: 1 } }, ["a.y"]],
    ["a nullable object", z.object({ a: Leaf.nullable() }), { a: { y: 1 } }, ["a.y"]],
    ["an object with a default", z.object({ a: Leaf.default({}) }), { a: { y: 1 } }, ["a.y"]],
    ["an array", z.object({ a: z.array(Leaf) }), { a: [{}, { y: 1 }] }, ["a.1.y"]],
    ["an array of arrays", z.array(z.array(Leaf)), [[], [{ y: 1 }]], ["1.0.y"]],
    [
      "a tuple and its rest",
      z.tuple([Leaf, z.string()], z.object({ x: z.number().optional(), w: z.number().optional() })),
      [{ w: 1 }, "s", {}, { w: 1, z: 1 }],
      ["0.w", "3.z"],
    ],
    ["the values of a record", z.record(z.string(), Leaf), { any: { y: 1 } }, ["any.y"]],
    ["a recursive object", Tree, { v: 1, kids: [{ v: 2, kids: [{ v: 3, w: 1 }] }] }, ["kids.0.kids.0.w"]],
    ["a shared definition", z.object({ a: Named, b: Named }), { a: { s: "" }, b: { s: "", t: 1 } }, ["b.t"]],
    ["what a loose object names", z.looseObject({ a: Leaf }), { a: { y: 1 }, more: { z: 1 } }, ["a.y"]],
    ["a catchall", z.object({}).catchall(Leaf), { any: { y: 1 } }, ["any.y"]],
    ["a union's branch", z.union([Leaf, z.array(Leaf)]), [{ y: 1 }], ["0.y"]],
    ["a union by a constant", Kind, { kind: "a", a: "", b: "" }, ["b"]],
    ["a union by an enum", Kind, { kind: "c", b: "", a: "" }, ["a"]],
    ["an intersection", z.object({ a: Leaf }).and(z.object({ b: Leaf })), { a: { y: 1 }, b: {}, c: 1 }, ["a.y", "c"]],
    ["an intersection with a union", Leaf.and(Kind), { x: "", kind: "a", a: "", y: 1 }, ["y"]],
    [
      "intersected properties",
      z
        .object({ o: Leaf })
        .and(z.object({ o: z.object({ z: z.string() }) }))
        .and(Kind),
      { o: { x: "", z: "", y: 1 }, kind: "b" },
      ["o.y"],
    ],
    [
      "names of Object.prototype",
      Leaf,
      JSON.parse('{ "__proto__": 1, "constructor": 1, "toString": 1 }'),
      ["__proto__", "constructor", "toString"],
    ],
  ])("TOOL-2 are found in %s", async (_, schema, value, paths) => {
    expect(await unknownIn(schema, value)).toEqual(paths);
  });

  test.each<[string, Schema, unknown]>([
    ["a loose object", z.looseObject({}), { any: { thing: 1 } }],
    ["a loose object within", z.object({ a: z.array(z.looseObject({})) }), { a: [{ any: 1 }] }],
    ["a record", z.record(z.string(), z.unknown()), { any: { thing: 1 } }],
    ["anything", z.object({ a: z.any(), u: z.unknown() }), { a: { x: 1 }, u: [{ y: 1 }] }],
    ["json", z.json(), { a: [{ b: null }] }],
    ["a union with a loose branch", z.union([z.looseObject({ q: z.number() }), Leaf]), { q: 1, y: 1 }],
    ["an intersection with a record", Leaf.and(z.record(z.string(), z.string())), { x: "", y: "" }],
    ["an intersection with a union", Leaf.and(Kind), { x: "", kind: "a", a: "" }],
    ["nothing but known keys", Tree, { v: 1, kids: [{ v: 2, kids: [] }] }],
    ["what is no object", z.string(), "x"],
    ["what JSON Schema cannot say", z.object({ at: z.date(), n: z.bigint() }), { at: new Date(0), n: 1n }],
  ])("TOOL-2 are none in %s", async (_, schema, value) => {
    const result = await parseWithSchema(schema, value);
    expect(result).toEqual({ ok: true, value });
  });

  test("TOOL-2 they are listed beside the schema's own issues, each with its path", async () => {
    const schema = z.object({ a: z.object({ n: z.number() }), list: z.array(z.string()) });
    const result = await parseWithSchema(schema, { a: { n: "1", y: 1 }, list: ["x", 2], z: 1 });
    expect(result.ok ? [] : result.issues.map(({ path }) => path)).toEqual(["a.n", "list.1", "a.y", "z"]);
    if (!result.ok)
      expect(describeIssues(result.issues)).toMatch(/^a\.n: .+; list\.1: .+; a\.y: unknown key; z: unknown key$/);
  });

  test("TOOL-2 a key of an intersection is known when one part knows it, a union or another intersection too", async () => {
    const object = (...keys: string[]) => ({
      type: "object",
      properties: Object.fromEntries(keys.map((key) => [key, {}])),
    });
    const json = {
      allOf: [
        { allOf: [object("a"), { $ref: "#/$defs/B" }] },
        { anyOf: [object("c"), { type: "null" }] },
        { type: "object", properties: { o: object("x") } },
      ],
      properties: { d: {}, o: object("y") },
      $defs: { B: object("b") },
    };
    expect(await unknownIn(dropping(json), { a: 1, b: 1, c: 1, d: 1, o: { x: 1, y: 1 } })).toEqual([]);
    const given = { a: 1, e: 1, o: { x: 1, z: 1 } };
    expect(await unknownIn(dropping(json, ["e", "o.z"]), given)).toEqual(["e", "o.z"]);
    // What is known was dropped by a transform.
    expect(await unknownIn(dropping(json, ["a", "o.x"]), given)).toEqual([]);
  });

  test("TOOL-2 a key that the schema itself refuses is listed once", async () => {
    const json = () => ({ type: "object", properties: {} });
    const validate = () => ({ issues: [{ path: ["y"], message: "not wanted" }] });
    const schema: Schema = {
      "~standard": { version: 1, vendor: "test", validate, jsonSchema: { input: json, output: json } },
    };
    expect(await parseWithSchema(schema, { y: 1 })).toEqual({
      ok: false,
      issues: [{ path: "y", message: "not wanted" }],
    });
  });

  test("TOOL-2 an issue of the value itself has no path", () => {
    const result = parseWithSchemaSync(z.object({}), "text");
    expect(result).toEqual({ ok: false, issues: [{ path: "", message: expect.stringContaining("object") }] });
    if (!result.ok) expect(describeIssues(result.issues)).toBe(result.issues[0]?.message);
  });

  test("TOOL-2 an asynchronous schema is waited for", async () => {
    const schema = z.object({ a: z.string().refine(async (a) => a === "yes", "must be yes") });
    expect(await parseWithSchema(schema, { a: "yes" })).toEqual({ ok: true, value: { a: "yes" } });
    expect(await parseWithSchema(schema, { a: "no", b: 1 })).toEqual({
      ok: false,
      issues: [
        { path: "a", message: "must be yes" },
        { path: "b", message: "unknown key" },
      ],
    });
  });

  test("TOOL-2 a deep value is walked in one pass", async () => {
    let value: unknown = { v: 1, w: 1 };
    for (let i = 0; i < 60; i++) value = { v: 1, kids: [value] };
    expect(await unknownIn(Tree, value)).toEqual([`${"kids.0.".repeat(60)}w`]);
  });
});

test("LIM-9 an object's keys are listed once to see whether all are named, and once to find those that are not", () => {
  let listings = 0;
  const json = { type: "object", properties: { a: {} }, additionalProperties: false };
  const schema = {
    "~standard": {
      version: 1,
      vendor: "own",
      validate: () => ({ value: {} }),
      jsonSchema: { input: () => json, output: () => json },
    },
  } as const;
  const keys = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`k${n}`, n]));
  const given = new Proxy(keys, {
    ownKeys(target) {
      listings += 1;
      return Reflect.ownKeys(target);
    },
  });
  expect(parseWithSchemaSync(schema as never, given)).toMatchObject({ ok: false, unlisted: 400 });
  expect(listings).toBe(2);
});
