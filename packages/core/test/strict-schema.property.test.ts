import { fc } from "./support/property.ts";
import { expect, test } from "vitest";
import { z } from "zod";
import type { JsonSchema } from "@proviso/core";
import { jsonSchemaOf, strictSchema } from "@proviso/core/provider";

type Shape =
  | { readonly kind: "string" }
  | { readonly kind: "number" }
  | { readonly kind: "null" }
  | { readonly kind: "array"; readonly items: Shape }
  | { readonly kind: "union"; readonly branches: readonly Shape[]; readonly chosen: number }
  | { readonly kind: "object"; readonly fields: readonly Field[] };
type Field = { readonly shape: Shape; readonly mode: "required" | "optional" | "nullable"; readonly present: boolean };

type Shapes = {
  readonly object: Shape & { kind: "object" };
  readonly withUnions: Shape & { kind: "object" };
  readonly shape: Shape;
  readonly unionShape: Shape;
};
const objectOf = (shape: fc.Arbitrary<Shape>): fc.Arbitrary<Shape & { kind: "object" }> =>
  fc.record({
    kind: fc.constant("object" as const),
    fields: fc.array(
      fc.record({ shape, mode: fc.constantFrom("required", "optional", "nullable"), present: fc.boolean() }),
      { maxLength: 4, depthIdentifier: "shape" },
    ),
  });
const plainShape = fc.constantFrom<Shape>({ kind: "string" }, { kind: "number" }, { kind: "null" });
const arrayOf = (items: fc.Arbitrary<Shape>) => fc.record({ kind: fc.constant("array" as const), items });
const within = { maxDepth: 3, depthIdentifier: "shape" };
const { object, withUnions } = fc.letrec<Shapes>((tie) => ({
  shape: fc.oneof(within, plainShape, arrayOf(tie("shape")), tie("object")),
  unionShape: fc.oneof(
    { ...within, maxDepth: 5 },
    plainShape,
    arrayOf(tie("unionShape")),
    fc.record({
      kind: fc.constant("union" as const),
      branches: fc.array(tie("unionShape"), { minLength: 2, maxLength: 3 }),
      chosen: fc.nat(),
    }),
    tie("withUnions"),
  ),
  withUnions: objectOf(tie("unionShape")),
  object: objectOf(tie("shape")),
}));

const wrap = (schema: z.ZodType, mode: Field["mode"]): z.ZodType =>
  mode === "optional" ? schema.optional() : mode === "nullable" ? schema.nullable() : schema;
const schemaOf = (shape: Shape): z.ZodType => {
  if (shape.kind === "string") return z.string();
  if (shape.kind === "number") return z.number();
  if (shape.kind === "null") return z.null();
  if (shape.kind === "array") return z.array(schemaOf(shape.items));
  if (shape.kind === "union") return z.union(shape.branches.map(schemaOf) as [z.ZodType, z.ZodType]);
  return z.strictObject(
    Object.fromEntries(shape.fields.map(({ shape: inner, mode }, i) => [`k${i}`, wrap(schemaOf(inner), mode)])),
  );
};
/** A value of the shape, and the same as a strict provider answers it: with null for what is absent. */
const valuesOf = (shape: Shape): readonly [plain: unknown, strict: unknown] => {
  if (shape.kind === "string") return ["s", "s"];
  if (shape.kind === "number") return [1, 1];
  if (shape.kind === "null") return [null, null];
  if (shape.kind === "array") {
    const [plain, strict] = valuesOf(shape.items);
    return [
      [plain, plain],
      [strict, strict],
    ];
  }
  if (shape.kind === "union") return valuesOf(shape.branches[shape.chosen % shape.branches.length] as Shape);
  const plain: Record<string, unknown> = {};
  const strict: Record<string, unknown> = {};
  for (const [i, field] of shape.fields.entries()) {
    const [inPlain, inStrict] = valuesOf(field.shape);
    const isNull = field.mode === "nullable" && !field.present;
    // An optional null stands for itself: it cannot be told from an absent one.
    const absent = field.mode === "optional" && !field.present && field.shape.kind !== "null";
    strict[`k${i}`] = isNull || absent ? null : inStrict;
    if (!absent) plain[`k${i}`] = isNull ? null : inPlain;
  }
  return [plain, strict];
};
const objectsIn = (schema: unknown): readonly JsonSchema[] =>
  typeof schema !== "object" || schema === null
    ? []
    : [
        ...([(schema as JsonSchema)["type"]].flat().includes("object") ? [schema as JsonSchema] : []),
        ...Object.values(schema).flatMap(objectsIn),
      ];

test("OUT-4 what a strict provider answers comes back as a value of the schema, for any object of plain types", () => {
  fc.assert(
    fc.property(object, (shape) => {
      const schema = schemaOf(shape);
      const strict = strictSchema(jsonSchemaOf(schema, "input"));
      const [plain, answer] = valuesOf(shape);
      for (const inner of objectsIn(strict?.schema)) {
        expect(inner["required"]).toEqual(Object.keys(inner["properties"] as object));
        expect(inner["additionalProperties"]).toBe(false);
      }
      expect(strict?.restore(answer)).toEqual(plain);
      expect(schema.safeParse(plain)).toEqual({ success: true, data: plain });
    }),
  );
});

const withoutNullKeys = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNullKeys);
  if (typeof value !== "object" || value === null) return value;
  const present = Object.entries(value).filter(([, item]) => item !== null);
  return Object.fromEntries(present.map(([key, item]) => [key, withoutNullKeys(item)]));
};

// Where an answer fits several branches, one of them is taken: nothing but nulls may be missing.
test("OUT-4 what a strict provider answers comes back as a value of the schema, for unions in unions of any types", () => {
  fc.assert(
    fc.property(withUnions, (shape) => {
      const schema = schemaOf(shape);
      const [, answer] = valuesOf(shape);
      const restored = strictSchema(jsonSchemaOf(schema, "input"))?.restore(answer);
      expect(schema.safeParse(restored)).toEqual({ success: true, data: restored });
      expect(withoutNullKeys(restored)).toEqual(withoutNullKeys(answer));
    }),
  );
});
