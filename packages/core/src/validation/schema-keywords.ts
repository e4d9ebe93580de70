// The keywords of JSON Schema (draft 2020-12): where schemas stand below a schema, and what each keyword has to be.
import { isRecord } from "../values.ts";
import type { JsonSchema } from "../json-schema.ts";

/** A keyword that is not what it has to be. */
interface KeywordFault {
  readonly key: string;
  readonly message: string;
}

/** A schema below another one, and the way to it. */
interface PartBelow {
  readonly keys: readonly string[];
  readonly part: unknown;
}

const one = /* @__PURE__ */ (
  "additionalProperties unevaluatedProperties propertyNames unevaluatedItems additionalItems contains not if then else " +
  "contentSchema"
).split(" ");
const lists = ["allOf", "anyOf", "oneOf", "prefixItems"];
const records = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];

/** The schemas that stand right below this one. */
export function schemasBelow(schema: JsonSchema): readonly PartBelow[] {
  const below: PartBelow[] = [];
  for (const key of one) if (Object.hasOwn(schema, key)) below.push({ keys: [key], part: schema[key] });
  for (const key of [...lists, "items"]) {
    const parts = schema[key];
    if (Array.isArray(parts)) {
      for (const [index, part] of parts.entries()) below.push({ keys: [key, String(index)], part });
    } else if (key === "items" && parts !== undefined) below.push({ keys: [key], part: parts });
  }
  for (const key of [...records, "dependencies"]) {
    const parts = schema[key];
    if (!isRecord(parts)) continue;
    for (const [name, part] of Object.entries(parts)) {
      if (key !== "dependencies" || !Array.isArray(part)) below.push({ keys: [key, name], part });
    }
  }
  return below;
}

const typeNames: readonly unknown[] = ["object", "array", "string", "number", "integer", "boolean", "null"];

type Form = readonly [expected: string, fits: (value: unknown) => boolean];

const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every((item) => typeof item === "string");
const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;
const aNumber: Form = ["a number", (value) => typeof value === "number"];
const aText: Form = ["a text", (value) => typeof value === "string"];
const texts: Form = ["a list of texts", isTexts];
const count: Form = ["a whole number that is not negative", isCount];
const schemas: Form = ["a list of schemas that is not empty", (value) => Array.isArray(value) && value.length > 0];
const named: Form = ["an object of schemas", isRecord];

const forms: ReadonlyMap<string, Form> = /* @__PURE__ */ new Map([
  [
    "type",
    [
      `one of ${typeNames.join(", ")}, or a list of them`,
      (value) => [value].flat().length > 0 && [value].flat().every((name) => typeNames.includes(name)),
    ],
  ],
  ["enum", ["a list", Array.isArray]],
  ["required", texts],
  ["properties", named],
  ["patternProperties", named],
  ["dependentSchemas", named],
  ["$defs", named],
  ["definitions", named],
  ["dependencies", ["an object of schemas or of lists of names", isRecord]],
  [
    "dependentRequired",
    ["an object of lists of texts", (value) => isRecord(value) && Object.values(value).every(isTexts)],
  ],
  ["allOf", schemas],
  ["anyOf", schemas],
  ["oneOf", schemas],
  ["prefixItems", ["a list of schemas", Array.isArray]],
  ["multipleOf", ["a number above 0", (value) => typeof value === "number" && value > 0]],
  ["maximum", aNumber],
  ["minimum", aNumber],
  ["exclusiveMaximum", aNumber],
  ["exclusiveMinimum", aNumber],
  ["maxLength", count],
  ["minLength", count],
  ["maxItems", count],
  ["minItems", count],
  ["maxContains", count],
  ["minContains", count],
  ["maxProperties", count],
  ["minProperties", count],
  ["uniqueItems", ["true or false", (value) => typeof value === "boolean"]],
  ["pattern", aText],
  ["$ref", aText],
  ["$dynamicRef", aText],
  ["$id", aText],
  ["$anchor", aText],
  ["$dynamicAnchor", aText],
]);

/** The keywords of one schema that are not what they have to be; schemas below it are not looked at. */
export function keywordFaults(schema: JsonSchema): readonly KeywordFault[] {
  const faults: KeywordFault[] = [];
  for (const [key, value] of Object.entries(schema)) {
    const form = forms.get(key);
    if (form !== undefined && !form[1](value)) faults.push({ key, message: `must be ${form[0]}` });
  }
  return faults;
}
