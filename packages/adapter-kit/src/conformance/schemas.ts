import type { JsonSchema, Schema } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";

/** A schema from JSON Schema: as much of it as the cases need, and no library. */
export function schemaFrom<T>(json: JsonSchema): Schema<unknown, T> {
  return {
    "~standard": {
      version: 1,
      vendor: "proviso",
      validate(value) {
        const path = misfit(json, value, []);
        return path === undefined ? { value: value as T } : { issues: [{ message: "does not fit", path }] };
      },
      jsonSchema: { input: () => ({ ...json }), output: () => ({ ...json }) },
    },
  };
}

/** The path of the first value that does not fit. */
function misfit(schema: JsonSchema, value: unknown, path: readonly string[]): readonly string[] | undefined {
  const { type, properties = {}, items, additionalProperties } = schema as ObjectOrList;
  if (type === "array") {
    if (!Array.isArray(value)) return path;
    return first(value.map((item, index) => misfit(items ?? {}, item, [...path, String(index)])));
  }
  if (type !== "object") return typeof value === type ? undefined : path;
  if (!isRecord(value)) return path;
  const found = Object.entries(properties).map(([key, property]) =>
    misfit(property as JsonSchema, value[key], [...path, key]),
  );
  const unknown = Object.keys(value).find((key) => !Object.hasOwn(properties, key));
  const isClosed = additionalProperties === false && unknown !== undefined;
  return first(found) ?? (isClosed ? [...path, unknown] : undefined);
}

interface ObjectOrList {
  readonly type?: unknown;
  readonly properties?: JsonSchema;
  readonly items?: JsonSchema;
  readonly additionalProperties?: boolean;
}

function first<T>(found: readonly (T | undefined)[]): T | undefined {
  return found.find((path) => path !== undefined);
}

/** An object whose keys are all required. */
export function objectOf(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}
