import { defineTool, DefinitionError, type PlainJsonSchema } from "@proviso/core";
import { parseWithSchemaSync, sentSchemaOf } from "@proviso/core/internal";
import { strictSchema } from "@proviso/core/provider";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const execute = (): string => "done";
const toolOf = (input: PlainJsonSchema) => defineTool({ name: "t", description: "T.", input, execute });
const issuesOf = (input: PlainJsonSchema, value: unknown): readonly string[] => {
  const result = parseWithSchemaSync(toolOf(input).input, value);
  return result.ok ? [] : result.issues.map(({ path, message }) => `${path}: ${message}`);
};
const object = (more: PlainJsonSchema): PlainJsonSchema => ({ type: "object", ...more });

test("TOOL-18 a tool takes JSON Schema: the model gets it as it is, and the arguments are checked with it", () => {
  const schema = object({ properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city"] });
  const tool = toolOf(schema);
  expect(sentSchemaOf(tool.input)).toEqual(schema);
  expect(issuesOf(schema, { city: "Rome", days: 2 })).toEqual([]);
  expect(issuesOf(schema, { days: 2.5 })).toEqual(["city: is missing", "days: must be an integer, not a number"]);
});

test("TOOL-18 what is changed in the given schema afterwards changes no tool", () => {
  const properties: Record<string, unknown> = { a: { type: "string" } };
  const tool = toolOf(object({ properties }));
  properties["b"] = { type: "string" };
  expect(sentSchemaOf(tool.input)).toEqual({ type: "object", properties: { a: { type: "string" } } });
});

describe("TOOL-18 unknown keys are refused as those of other schemas are", () => {
  const inner = { type: "object", properties: { x: { type: "number" } } };
  test.each<readonly [string, PlainJsonSchema, unknown, readonly string[]]>([
    ["at the root", { properties: { a: {} } }, { a: 1, b: 2 }, ["b: unknown key"]],
    ["below", { properties: { a: inner } }, { a: { x: 1, y: 2 } }, ["a.y: unknown key"]],
    ["in a list", { properties: { a: { items: inner } } }, { a: [{ x: 1 }, { y: 2 }] }, ["a.1.y: unknown key"]],
    ["with additionalProperties: false", { properties: {}, additionalProperties: false }, { a: 1 }, ["a: unknown key"]],
    [
      "of several parts",
      { allOf: [{ properties: { a: {} } }, { properties: { b: {} } }] },
      { a: 1, b: 1, c: 1 },
      ["c: unknown key"],
    ],
    [
      "of a branch that does not fit",
      { anyOf: [{ properties: { a: { type: "string" } } }, { properties: { b: {} } }] },
      { a: 1, b: 1 },
      ["a: unknown key"],
    ],
    ["of an object that takes others", { properties: { a: {} }, additionalProperties: true }, { a: 1, b: 2 }, []],
    ["of a record", { additionalProperties: { type: "number" } }, { a: 1 }, []],
    ["of an object without any rule", {}, { a: { b: 1 } }, []],
    ["of an object in one without rules", { properties: { a: { type: "object" } } }, { a: { b: 1 } }, []],
    ["that a pattern names", { patternProperties: { "^x-": {} } }, { "x-a": 1, y: 1 }, ["y: unknown key"]],
  ])("%s", (_, schema, value, issues) => {
    expect(issuesOf(object(schema), value)).toEqual(issues);
  });
});

describe("TOOL-18 each keyword is checked, and what does not fit is reported with its path", () => {
  test.each<readonly [PlainJsonSchema, unknown, readonly string[]]>([
    [{ enum: ["a", "b"] }, "c", ['a: must be one of "a", "b", not "c"']],
    [{ const: { k: [1] } }, { k: [1] }, []],
    [{ const: 1 }, 2, ["a: must be 1, not 2"]],
    [{ type: ["string", "null"] }, 1, ["a: must be a string or null, not a number"]],
    [{ minLength: 2 }, "😀", ["a: has 1 characters, and at least 2 are needed"]],
    [{ pattern: "^a+$" }, "ab", ['a: must match the pattern "^a+$"']],
    [{ minimum: 3 }, 2, ["a: must be at least 3"]],
    [{ exclusiveMaximum: 3 }, 3, ["a: must be less than 3"]],
    [{ multipleOf: 0.1 }, 0.3, []],
    [{ multipleOf: 0.01 }, 19.99, []],
    [{ multipleOf: 1e-7 }, 123456.1234567, []],
    [{ multipleOf: 1e10 }, 0, []],
    [{ multipleOf: 1e10 }, 1, ["a: must be a multiple of 10000000000"]],
    [{ multipleOf: 1e10 }, 1e10 + 1, ["a: must be a multiple of 10000000000"]],
    [{ multipleOf: 1 }, 1e-10, ["a: must be a multiple of 1"]],
    [{ multipleOf: 2 }, Number.MAX_SAFE_INTEGER, ["a: must be a multiple of 2"]],
    [{ multipleOf: 0.1 }, 0.35, ["a: must be a multiple of 0.1"]],
    [
      { uniqueItems: true },
      [
        { x: 1, y: 2 },
        { y: 2, x: 1 },
      ],
      ["a: has an item twice"],
    ],
    [{ prefixItems: [{ type: "string" }], items: false }, ["x", 1], ["a.1: is not allowed here"]],
    [
      { contains: { type: "string" }, maxContains: 1 },
      ["a", "b"],
      ["a: has 2 items of the wanted kind, and at most 1 are allowed"],
    ],
    [{ contains: { type: "string" }, unevaluatedItems: { type: "number" } }, ["a", 1], []],
    [
      { contains: { type: "string" }, unevaluatedItems: { type: "number" } },
      ["a", true],
      ["a.1: must be a number, not a boolean"],
    ],
    [{ not: { type: "string" } }, "x", ["a: is what the schema excludes"]],
    [{ if: { type: "string" }, then: { minLength: 1 }, else: false }, 1, ["a: is not allowed here"]],
    [{ oneOf: [{ type: "number" }, { minimum: 1 }] }, 2, ["a: fits 2 of 2 forms, and must fit exactly one"]],
    [{ anyOf: [{ type: "number" }, { type: "object", required: ["k"] }] }, {}, ["a.k: is missing"]],
    [{ dependentRequired: { x: ["y"] } }, { x: 1 }, ["a.y: is missing, because x is there"]],
    [{ propertyNames: { maxLength: 1 } }, { xx: 1 }, ["a.xx: is not an allowed key"]],
    [{ unevaluatedProperties: { type: "string" } }, { x: 1 }, ["a.x: must be a string, not a number"]],
    [{ $ref: "#/$defs/tree" }, { next: { next: {} } }, []],
    [{ $ref: "#/$defs/tree" }, { next: { next: 1 } }, ["a.next.next: must be an object, not a number"]],
    [{ $ref: "#leaf" }, 1, ["a: must be a string, not a number"]],
    // Older drafts.
    [
      { items: [{ type: "string" }], additionalItems: { type: "number" } },
      ["x", "y"],
      ["a.1: must be a number, not a string"],
    ],
    [
      { dependencies: { x: ["y"], z: { required: ["w"] } } },
      { x: 1, z: 1 },
      ["a.y: is missing, because x is there", "a.w: is missing"],
    ],
  ])("%j", (schema, value, issues) => {
    const $defs = {
      tree: { type: "object", properties: { next: { $ref: "#/$defs/tree" } } },
      leaf: { $anchor: "leaf", type: "string" },
    };
    expect(issuesOf(object({ properties: { a: schema }, $defs }), { a: value }).toSorted()).toEqual(issues.toSorted());
  });
});

describe("TOOL-18 JSON Schema that cannot be used is refused with the tool's name when it is defined", () => {
  test.each<readonly [string, PlainJsonSchema, string]>([
    ["a type that is none", { properties: { a: { type: "text" } } }, "properties.a.type must be one of object, array"],
    ["a pattern that is none", { properties: { a: { pattern: "(" } } }, 'no regular expression: "("'],
    ["a reference into nothing", { properties: { a: { $ref: "#/$defs/b" } } }, '"#/$defs/b", where no schema stands'],
    ["a reference elsewhere", { properties: { a: { $ref: "https://x.example/s.json" } } }, "nothing is fetched"],
    [
      "required of an older draft",
      { properties: { a: { required: true } } },
      "properties.a.required must be a list of texts",
    ],
    ["a part that is no schema", { properties: { a: 1 } }, "properties.a must be a schema: an object or a boolean"],
    ["half a surrogate pair", { properties: { "\ud800": {} } }, "half a surrogate pair"],
  ])("%s", (_, schema, message) => {
    expect(() => toolOf(object(schema))).toThrow(DefinitionError);
    expect(() => toolOf(object(schema))).toThrow('The input of tool "t"');
    expect(() => toolOf(object(schema))).toThrow(message);
  });

  test("what is no object, and what is not plain JSON", () => {
    expect(() => toolOf({ type: "string" })).toThrow('The input of tool "t" must be an object schema.');
    const circle: Record<string, unknown> = { type: "object" };
    circle["properties"] = { circle };
    expect(() => toolOf(circle as PlainJsonSchema)).toThrow("it is not plain JSON");
  });
});

test("TOOL-18 a schema that refers to itself for ever ends with an error, and a value that is nested in itself fits", () => {
  const endless = object({ $defs: { a: { allOf: [{ $ref: "#/$defs/a" }] } }, $ref: "#/$defs/a" });
  expect(() => issuesOf(endless, {})).toThrow("too involved");
  const doubling = Object.fromEntries(
    Array.from({ length: 40 }, (_, n) => [
      `d${n}`,
      { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
    ]),
  );
  expect(() => issuesOf(object({ $defs: { ...doubling, d40: {} }, $ref: "#/$defs/d0" }), {})).toThrow("too involved");
});

test("TOOL-18 the output of a tool may be JSON Schema too", () => {
  const tool = defineTool({
    name: "t",
    description: "T.",
    input: z.object({}),
    output: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    execute: () => ({ n: 1 }),
  });
  expect(parseWithSchemaSync(tool.output!, { n: "x" }).ok).toBe(false);
  expect(parseWithSchemaSync(tool.output!, { n: 1, later: undefined }).ok).toBe(true);
});

test("TOOL-18 a schema with an object that takes any keys is not sent in strict mode, which would leave it empty", () => {
  const open = { type: "object", properties: { filter: { type: "object" } }, required: ["filter"] };
  expect(strictSchema(sentSchemaOf(toolOf(open).input))).toBe(undefined);
  const closed = { type: "object", properties: { filter: { type: "object", properties: {} } } };
  expect(strictSchema(sentSchemaOf(toolOf(closed).input))?.schema).toMatchObject({ additionalProperties: false });
});
