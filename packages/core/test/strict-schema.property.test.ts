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
  | { readonly kind: "object"; readonly fields: readonly Field[] };
type Field = { readonly shape: Shape; readonly mode: "required" | "optional" | "nullable"; readonly present: boolean };

const { object } = fc.letrec<{ object: Shape & { kind: "object" }; shape: Shape }>((tie) => ({
  shape: fc.oneof(
    { maxDepth: 3, depthIdentifier: "shape" },
    fc.constantFrom<Shape>({ kind: "string" }, { kind: "number" }, { kind: "null" }),
    fc.record({ kind: fc.constant("array" as const), items: tie("shape") }),
    tie("object"),
  ),
  object: fc.record({
    kind: fc.constant("object" as const),
    fields: fc.array(
      fc.record({
        shape: tie("shape"),
        mode: fc.constantFrom("required", "optional", "nullable"),
        present: fc.boolean(),
      }),
      { maxLength: 4, depthIdentifier: "shape" },
    ),
  }),
}));

const wrap = (schema: z.ZodType, mode: Field["mode"]): z.ZodType =>
  mode === "optional" ? schema.optional() : mode === "nullable" ? schema.nullable() : schema;
const schemaOf = (shape: Shape): z.ZodType => {
  if (shape.kind === "string") return z.string();
  if (shape.kind === "number") return z.number();
  if (shape.kind === "null") return z.null();
  if (shape.kind === "array") return z.array(schemaOf(shape.items));
  return z.object(
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
