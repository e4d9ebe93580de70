import { defineTool } from "@proviso/core";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseWithSchemaSync } from "../src/schema.ts";

const keys = ["a", "b", "c"];
const count = fc.nat(2);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(0, 1, 2, 3.5, -1, "", "a", "ab", "😀", true, false, null),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...keys), tie("any"), { maxKeys: 3, noNullPrototype: true }),
  ),
})).any;
const type = fc.constantFrom("object", "array", "string", "number", "integer", "boolean", "null");

/** Schemas of every keyword. Where keys are named it is said what becomes of others, because a tool refuses them otherwise. */
const schema = fc.letrec<{ any: unknown; plain: unknown; parts: unknown; keyed: unknown }>((tie) => ({
  any: fc.oneof({ maxDepth: 3, withCrossShrink: true }, fc.boolean(), tie("plain"), tie("parts"), tie("keyed")),
  plain: fc.oneof(
    fc.record({ type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })) }),
    fc.record({
      enum: fc.uniqueArray(value, {
        minLength: 1,
        maxLength: 3,
        comparator: (a, b) => JSON.stringify(a) === JSON.stringify(b),
      }),
    }),
    fc.record({ const: value }),
    fc.record(
      { minimum: count, exclusiveMaximum: count, multipleOf: fc.constantFrom(1, 0.5, 2) },
      { requiredKeys: [] },
    ),
    fc.record(
      { minLength: count, maxLength: count, pattern: fc.constantFrom("^a", "b$", "^.$") },
      { requiredKeys: [] },
    ),
    fc.record({ minItems: count, maxItems: count, uniqueItems: fc.boolean() }, { requiredKeys: [] }),
    fc.record({ minProperties: count, maxProperties: count, required: fc.subarray(keys) }, { requiredKeys: [] }),
    fc.record({ $ref: fc.constantFrom("#/$defs/text", "#/$defs/tree", "#leaf") }),
    fc.record({ dependentRequired: fc.dictionary(fc.constantFrom(...keys), fc.subarray(keys), { maxKeys: 2 }) }),
  ),
  parts: fc.oneof(
    fc.record({ allOf: fc.array(tie("any"), { minLength: 1, maxLength: 3 }) }),
    fc.record({ anyOf: fc.array(tie("any"), { minLength: 1, maxLength: 3 }) }),
    fc.record({ oneOf: fc.array(tie("any"), { minLength: 1, maxLength: 3 }) }),
    fc.record({ not: tie("any") }),
    fc.record({ if: tie("any"), then: tie("any"), else: tie("any") }),
    fc.record({ prefixItems: fc.array(tie("any"), { minLength: 1, maxLength: 2 }), items: tie("any") }),
    fc.record({ contains: tie("any"), minContains: count, maxContains: count }, { requiredKeys: ["contains"] }),
    fc.record({ allOf: fc.tuple(fc.record({ prefixItems: fc.tuple(tie("any")) })), unevaluatedItems: tie("any") }),
    fc.record({ propertyNames: tie("any") }),
    fc.record({ dependentSchemas: fc.dictionary(fc.constantFrom(...keys), tie("any"), { maxKeys: 2 }) }),
  ),
  keyed: fc.oneof(
    fc.record({
      properties: fc.dictionary(fc.constantFrom(...keys), tie("any"), { minKeys: 1, maxKeys: 2 }),
      patternProperties: fc.dictionary(fc.constantFrom("^a", "[bc]"), tie("any"), { maxKeys: 1 }),
      additionalProperties: tie("any"),
    }),
    fc.record({
      anyOf: fc.array(fc.record({ properties: fc.dictionary(fc.constantFrom(...keys), tie("any"), { maxKeys: 2 }) }), {
        minLength: 1,
        maxLength: 2,
      }),
      unevaluatedProperties: tie("any"),
    }),
  ),
})).any;

// It does not know that `contains` is looked at by `unevaluatedItems`, which is new in this draft.
test("TOOL-18 on random schemas and values we agree with another validator", () => {
  let fitting = 0;
  let others = 0;
  fc.assert(
    fc.property(schema, fc.array(value, { minLength: 1, maxLength: 5 }), (part, values) => {
      const $defs = {
        text: { type: "string" },
        leaf: { $anchor: "leaf", type: ["number", "null"] },
        tree: { type: "object", additionalProperties: { $ref: "#/$defs/tree" } },
      };
      const whole = { type: "object", properties: { v: part }, required: ["v"], additionalProperties: false, $defs };
      const { input } = defineTool({ name: "t", description: "T.", input: whole, execute: () => 1 });
      const oracle = new AjvJsonSchemaValidator().getValidator(whole as never);
      for (const v of values) {
        const expected = oracle({ v }).valid;
        if (expected) fitting += 1;
        else others += 1;
        expect(parseWithSchemaSync(input, { v }).ok, JSON.stringify({ part, v })).toBe(expected);
      }
    }),
    { numRuns: 150 },
  );
  // The cases are of both kinds, or the test says nothing.
  expect(Math.min(fitting, others)).toBeGreaterThan(50);
});
