// Why a schema cannot be used, in words that say what to do: what is given in its place is mostly another library's.
import { describeValue, isRecord, messageOf } from "./values.ts";
import { DefinitionError } from "./errors.ts";
import type { SchemaIssue } from "./schema-issue.ts";

/**
 * Makes the error for a value that is not a Standard Schema which prints JSON Schema. `what`: `The input of tool "t"`.
 */
export function noSchema(what: string, given: unknown): DefinitionError {
  const message =
    given === undefined
      ? "is missing: it must be a Standard Schema that prints JSON Schema, zod 4.2 or later, say"
      : `must be a Standard Schema that prints JSON Schema (zod 4.2 or later, say), ${whatItIs(given)}`;
  return new DefinitionError(`${what} ${message}.`, { issues: [{ path: "", message }] });
}

function whatItIs(given: unknown): string {
  if (!isRecord(given) && typeof given !== "function") return `not ${describeValue(given)}`;
  const { "~standard": standard, ...fields } = given as Readonly<Record<string, unknown>>;
  if (isRecord(standard)) {
    const vendor = String(standard["vendor"]);
    return "jsonSchema" in standard ? withoutValidation(vendor) : ofVendor(vendor);
  }
  if ("jsonSchema" in fields && "validate" in fields) {
    return "not what jsonSchema() of the AI SDK makes: give the zod schema itself, or z.fromJSONSchema(schema)";
  }
  if (isJsonSchema(fields)) return "not plain JSON Schema: z.fromJSONSchema(schema) of zod makes one of it";
  const parts = Object.values(fields);
  const isShape = parts.length > 0 && parts.every((part) => isRecord(part) && "~standard" in part);
  return isShape ? "not an object of schemas: put z.object() around it" : `not ${describeValue(given)}`;
}

function withoutValidation(vendor: string): string {
  const more = vendor === "effect" ? ": put Schema.toStandardSchemaV1() around it as well" : "";
  return `and this one of ${vendor} only prints it, and validates nothing${more}`;
}

function ofVendor(vendor: string): string {
  if (vendor === "zod")
    return 'and zod before 4.2 prints none, nor does zod/mini: import "zod" in its place, update it, or put a newer one beside it (`npm install zod4@npm:zod@4`) and import "zod4"';
  if (vendor === "valibot")
    return "and valibot prints none by itself: put toStandardJsonSchema() of @valibot/to-json-schema around it";
  return `and this one of ${vendor} prints none`;
}

/** Keywords that only JSON Schema has. */
const ownKeywords = ["$schema", "$ref", "$defs", "anyOf", "oneOf", "allOf", "enum", "const", "items", "prefixItems"];

/** Whether an object looks like JSON Schema: by a keyword that each has, and that no object of schemas has. */
export function isJsonSchema(fields: Readonly<Record<string, unknown>>): boolean {
  const parts = Object.values(fields);
  if (parts.length > 0 && parts.every((part) => isRecord(part) && "~standard" in part)) return false;
  if ("jsonSchema" in fields && "validate" in fields) return false;
  if (isRecord(fields["properties"]) || ownKeywords.some((keyword) => keyword in fields)) return true;
  return ["object", "array", "string", "number", "integer", "boolean", "null"].includes(String(fields["type"]));
}

/**
 * Makes the error for a schema that its library could not print. It names the path of each part that JSON Schema cannot
 * express, where that path can be found.
 */
export function unprintable(what: string, schema: unknown, side: "input" | "output", cause: unknown): DefinitionError {
  const why = messageOf(cause);
  const issues: readonly SchemaIssue[] = pathsOfZod(schema).map((path) => ({ path, message: why }));
  const wayOut =
    side === "input" && issues.length > 0 ? ". Make it of what JSON has, as z.iso.datetime().transform() does" : "";
  const where = issues[0] === undefined || issues[0].path === "" ? "" : `${issues[0].path}: `;
  return new DefinitionError(`${what} cannot be written as JSON Schema: ${where}${why}${wayOut}`, {
    cause,
    issues: issues.length === 0 ? [{ path: "", message: why }] : issues,
  });
}

/**
 * The zod types that JSON Schema cannot express. Source: the cases of zod's `toJSONSchema` that throw where
 * `unrepresentable` is "throw".
 */
const wordless: ReadonlySet<unknown> = new Set([
  "bigint",
  "symbol",
  "undefined",
  "void",
  "date",
  "custom",
  "function",
  "transform",
  "map",
  "set",
  "nan",
]);

/** Collects the paths: zod passes the path of each part to `override` while it prints. */
function pathsOfZod(schema: unknown): readonly string[] {
  const standard = isRecord(schema) ? schema["~standard"] : undefined;
  if (!isRecord(standard) || standard["vendor"] !== "zod") return [];
  const paths: string[] = [];
  const override = (part: {
    readonly zodSchema?: { readonly _zod?: { readonly def?: { readonly type?: unknown } } };
    readonly path?: readonly (string | number)[];
  }): void => {
    if (wordless.has(part.zodSchema?._zod?.def?.type)) paths.push(readablePath(part.path ?? []));
  };
  try {
    const print = (standard["jsonSchema"] as { readonly input?: unknown } | undefined)?.input;
    if (typeof print === "function") {
      print({ target: "draft-2020-12", libraryOptions: { unrepresentable: "any", override } });
    }
  } catch {
    // The message goes without a path then.
  }
  return paths.toReversed();
}

/** Writes a path as the author of the schema knows it: `properties.rows.items.properties.at` is `rows[].at`. */
export function readablePath(path: readonly (string | number)[]): string {
  let text = "";
  for (let at = 0; at < path.length; at++) {
    if (path[at] === "properties") text += `${text === "" ? "" : "."}${String(path[++at])}`;
    else if (path[at] === "items") text += "[]";
    else if (path[at] === "additionalProperties") text += "[key]";
  }
  return text;
}
