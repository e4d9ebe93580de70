import type { JsonSchema, Schema } from "../schema.ts";
import type { SchemaIssue } from "../schema-issue.ts";

/** A schema without a library: what it prints, and what it finds wrong. */
export function plainSchema<T>(
  json: JsonSchema,
  issuesIn: (value: Readonly<Record<string, unknown>>) => readonly SchemaIssue[],
): Schema<unknown, T> {
  return {
    "~standard": {
      version: 1,
      vendor: "proviso",
      validate(value) {
        const given = (value ?? {}) as Readonly<Record<string, unknown>>;
        const unknown = Object.keys(given).filter((key) => !Object.hasOwn(json["properties"] as object, key));
        const found = [...issuesIn(given), ...unknown.map((path) => ({ path, message: "unknown key" }))];
        if (found.length === 0) return { value: value as T };
        return { issues: found.map(({ path, message }) => ({ path: [path], message })) };
      },
      jsonSchema: { input: () => ({ ...json }), output: () => ({ ...json }) },
    },
  };
}
