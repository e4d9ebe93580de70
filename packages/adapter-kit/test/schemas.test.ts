import {
  ignoredByGemini,
  looseSchema,
  outputSchema,
  parsedOutput,
  toolInputSchema,
  wireName,
} from "@proviso/adapter-kit";
import { expect, test } from "vitest";

const word = { type: "string" };
const closed = { type: "object", properties: { word }, required: ["word"], additionalProperties: false };
const optional = { ...closed, properties: { word, note: word } };
const strictOptional = {
  ...closed,
  properties: { word, note: { type: ["string", "null"] } },
  required: ["word", "note"],
};
const open = { type: "object", additionalProperties: word };

test("OUT-4 an output is strict where it can be, and what comes back is brought into the schema's own form", () => {
  expect(outputSchema(closed)).toMatchObject({ schema: closed, strict: true });
  const { schema, strict, restore } = outputSchema(optional);
  expect({ schema, strict }).toEqual({ schema: strictOptional, strict: true });
  expect(restore({ word: "a", note: null })).toEqual({ word: "a" });
});

test("OUT-4 an open one goes as it is", () => {
  const { schema, strict, restore } = outputSchema(open);
  expect(schema).toEqual(open);
  expect(strict).toBe(false);
  expect(restore({ a: null })).toEqual({ a: null });
});

test("OUT-4 in a loose one a pattern that looks around stands in the description, at every depth", () => {
  const pattern = "^(?=a)";
  const list = { type: "array", items: { type: "string", pattern }, uniqueItems: true };
  const schema = { allOf: [{ type: "object", additionalProperties: list }] };
  const described = { ...list, items: { type: "string", description: `pattern: ${pattern}.` } };
  expect(looseSchema(schema)).toEqual({ allOf: [{ ...schema.allOf[0], additionalProperties: described }] });
  const own = { not: { pattern: "a" }, items: [{ pattern: "a" }] };
  expect(looseSchema(own)).toEqual(own);
  // A keyword less below these would change what is refused: they go as a whole.
  expect(
    looseSchema({ not: { anyOf: [{ pattern }] }, items: [{ pattern }], if: { pattern: "a" }, then: { pattern } }),
  ).toEqual({
    if: { pattern: "a" },
    description: `not: {"anyOf":[{"pattern":"${pattern}"}]}; items: [{"pattern":"${pattern}"}]; then: {"pattern":"${pattern}"}.`,
  });
});

test.each([
  ["(?<!a)b", true],
  ["[(?=]+", false],
  ["[\\]](?!x)", true],
  ["\\(?=1", false],
  ["(?<name>a)(?:b)", false],
  ["[\\a".repeat(100_000), false],
])("OUT-4 LIM-9 whether %.20s looks around is seen in one pass", (pattern, isDescribed) => {
  const described = { description: `pattern: ${pattern}.` };
  expect(looseSchema({ pattern })).toEqual(isDescribed ? described : { pattern });
});

test("OUT-4 names of properties stand in the description of a loose one, where they say something", () => {
  expect(looseSchema({ ...open, propertyNames: word })).toEqual(open);
  expect(looseSchema({ ...open, propertyNames: { enum: ["a"] } })).toEqual({
    ...open,
    description: 'property names: {"enum":["a"]}.',
  });
});

test("OUT-4 what Gemini passes over stands in the description, strict or not", () => {
  const lot = { type: "number", multipleOf: 3 };
  const described = { type: "number", description: "multiple of: 3." };
  const named = { ...closed, properties: { word: lot } };
  expect(outputSchema(named, ignoredByGemini).schema).toEqual({ ...closed, properties: { word: described } });
  expect(outputSchema(named).schema).toEqual(named);
  expect(outputSchema({ ...open, additionalProperties: lot }, ignoredByGemini).schema).toEqual({
    ...open,
    additionalProperties: described,
  });
});

test("OAI-5 AIS-10 what is not brought back is strict only where every key is required, at every depth", () => {
  const list = (items: object) => ({ ...closed, properties: { word: { type: "array", items } } });
  for (const schema of [closed, list(closed)]) expect(toolInputSchema(schema)).toEqual({ schema, strict: true });
  for (const schema of [optional, list(optional), open]) {
    expect(toolInputSchema(schema)).toEqual({ schema, strict: false });
  }
});

test("OUT-4 a schema is made for the wire once", () => {
  expect(outputSchema(optional).schema).toBe(outputSchema(optional).schema);
  expect(outputSchema(optional, ignoredByGemini).schema).toBe(outputSchema(optional, ignoredByGemini).schema);
  expect(looseSchema(open)).toBe(looseSchema(open));
  expect(toolInputSchema(closed)).toBe(toolInputSchema(closed));
});

test.each([
  ["my.code review", "my_code_review"],
  ["x".repeat(80), "x".repeat(64)],
  ["", "output"],
])("OAI-6 the name %j goes as %j", (name, sent) => {
  expect(wireName(name)).toBe(sent);
});

test("OUT-1 text that is no JSON is no payload, nor is text without a schema", () => {
  const output = { name: "word", schema: optional };
  expect(parsedOutput(output, '{"word":"a","note":null}')).toEqual({ parsed: { word: "a" } });
  for (const text of ["", "Here: {}", '{"__proto__":{}}']) expect(parsedOutput(output, text)).toEqual({});
  expect(parsedOutput(undefined, "{}")).toEqual({});
});
