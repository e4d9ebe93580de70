import { DefinitionError } from "../errors.ts";
import { isRecord } from "../values.ts";
import type { JsonSchema } from "../json-schema.ts";
import { toJsonValue } from "../json.ts";
import { isJsonSchema } from "../schema-faults.ts";
import type { ObjectSchema, Schema } from "../schema.ts";
import { issuesOf } from "./check-value.ts";
import { readSchema, type SchemaNode } from "./schema-document.ts";

/**
 * JSON Schema, draft 2020-12, as plain data: what a tool's schema may be that is known only at run time. What older drafts
 * write differently (`items` as a list, `dependencies`, `definitions`) is understood, `format` is not checked, and a
 * reference to another document is refused.
 */
export type PlainJsonSchema = JsonSchema & {
  /** Plain data has none: a schema that has one is a Standard Schema. */
  readonly "~standard"?: never;
};

/** What checks values by JSON Schema, and prints that schema as it was given. */
const made = new WeakMap<object, Schema>();

/**
 * What `defineTool` was given, as a Standard Schema: JSON Schema is wrapped, and everything else stays what it is.
 * @throws {DefinitionError} for JSON Schema that cannot be used, about `what`.
 */
export function standardSchemaOf(given: unknown, what: string): Schema {
  if (!isRecord(given) || "~standard" in given || !isJsonSchema(given)) return given as Schema;
  const known = made.get(given);
  if (known !== undefined) return known;
  const schema = fromJsonSchema(given, what);
  made.set(given, schema);
  return schema;
}

function fromJsonSchema(given: JsonSchema, what: string): ObjectSchema {
  // A copy: what is changed in the given object afterwards changes nothing here.
  const copy = toJsonValue(given);
  if (copy === undefined) throw new DefinitionError(`${what} is no JSON Schema: it is not plain JSON.`);
  const document = readSchema(copy.value as SchemaNode);
  if ("faults" in document) {
    const { faults } = document;
    const shown = faults.slice(0, 5).map(({ path, message }) => (path === "" ? message : `${path} ${message}`));
    throw new DefinitionError(`${what} cannot be used as JSON Schema: ${shown.join("; ")}.`, { issues: faults });
  }
  const print = (): Record<string, unknown> => copy.value as Record<string, unknown>;
  return {
    "~standard": {
      version: 1,
      vendor: "json-schema",
      validate(value) {
        const issues = issuesOf(document, value);
        return issues.length === 0 ? { value: value as object } : { issues };
      },
      jsonSchema: { input: print, output: print },
    },
  };
}
