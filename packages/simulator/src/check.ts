import { checkSchema } from "./check-schema.ts";
import { badRequest, invalidType, missingParameter, notSupported, unknownParameter } from "./refusal.ts";
import { isObject, type JsonObject, type SimulatedCall, type SimulatedTool } from "./types.ts";

/** @throws {Refusal} for a key that is not known. */
export function checkKeys(object: JsonObject, known: ReadonlySet<string>, path = ""): void {
  const unknown = Object.keys(object).find((key) => !known.has(key));
  if (unknown !== undefined) throw unknownParameter(`${path}${unknown}`);
}

export function words(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}

export function textAt(object: JsonObject, key: string, path = ""): string {
  const value = object[key];
  if (value === undefined) throw missingParameter(`${path}${key}`);
  if (typeof value !== "string") throw invalidType(`${path}${key}`, "a string", value);
  return value;
}

export function listAt(object: JsonObject, key: string, path = ""): readonly unknown[] {
  const value = object[key];
  if (value === undefined) throw missingParameter(`${path}${key}`);
  if (!Array.isArray(value)) throw invalidType(`${path}${key}`, "an array", value);
  return value;
}

export function objectAt(value: unknown, path: string): JsonObject {
  if (!isObject(value)) throw invalidType(path, "an object", value);
  return value;
}

/** What both APIs take, in range. */
export function checkNumbers(body: JsonObject): void {
  const within = (key: string, low: number, high: number): void => {
    const value = body[key];
    if (value === undefined || value === null) return;
    if (typeof value !== "number") throw invalidType(key, "a decimal", value);
    if (value < low)
      throw badRequest(
        `Invalid '${key}': decimal below minimum value. Expected a value >= ${low}, but got ${value} instead.`,
        key,
        "decimal_below_min_value",
      );
    if (value > high)
      throw badRequest(
        `Invalid '${key}': decimal above maximum value. Expected a value <= ${high}, but got ${value} instead.`,
        key,
        "decimal_above_max_value",
      );
  };
  within("temperature", 0, 2);
  within("top_p", 0, 1);
}

/** A count of tokens that is left out, or no smaller than the API takes. */
export function checkMaxTokens(body: JsonObject, key: string, least: number): void {
  const value = body[key];
  if (value === undefined || value === null) return;
  if (typeof value !== "number" || !Number.isInteger(value)) throw invalidType(key, "an integer", value);
  if (value >= least) return;
  throw badRequest(
    `Invalid '${key}': integer below minimum value. Expected a value >= ${least}, but got ${value} instead.`,
    key,
    "integer_below_min_value",
  );
}

/** @throws {Refusal} for an empty one. */
export function checkFull(list: readonly unknown[], param: string): void {
  if (list.length > 0) return;
  throw badRequest(
    `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
    param,
    "empty_array",
  );
}

const longestName = 64;

/** @throws {Refusal} for one that is empty or longer than 64. */
export function checkLength(text: string, param: string): void {
  if (text === "")
    throw badRequest(
      `Invalid '${param}': empty string. Expected a string with minimum length 1, but got an empty string instead.`,
      param,
      "empty_string",
    );
  if (text.length > longestName)
    throw badRequest(
      `Invalid '${param}': string too long. Expected a string with maximum length ${longestName}, ` +
        `but got a string with length ${text.length} instead.`,
      param,
      "string_above_max_length",
    );
}

/** The name of a tool or of an output schema. */
export function checkName(name: string, param: string): void {
  checkLength(name, param);
  if (/^[a-zA-Z0-9_-]+$/.test(name)) return;
  throw badRequest(
    `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
    param,
    "invalid_value",
  );
}

/** @throws {Refusal} for an unknown type of format, and for JSON that no message asks the model for. */
export function checkFormat(format: unknown, path: string, input: string, given: unknown): void {
  if (!isObject(format)) return;
  const { type } = format;
  if (typeof type !== "string" || !["text", "json_object", "json_schema"].includes(type))
    throw badRequest(
      `Invalid value: '${String(type)}'. Supported values are: 'json_object', 'json_schema', and 'text'.`,
      `${path}.type`,
      "invalid_value",
    );
  if (type === "json_object" && !/json/i.test(JSON.stringify(given) ?? ""))
    throw badRequest(
      `'${input}' must contain the word 'json' in some form, to use '${path}' of type 'json_object'.`,
      input,
    );
}

/** Refuses what the service has and the simulator has not. */
export function checkSupported(body: JsonObject, unsupported: Readonly<Record<string, readonly unknown[]>>): void {
  for (const [key, harmless] of Object.entries(unsupported)) {
    const value = body[key] ?? null;
    if (value === null || harmless.includes(value)) continue;
    throw notSupported(key);
  }
}

/** @param nameAt where a tool's name lies. */
export function checkTools(tools: readonly SimulatedTool[], choice: unknown, nameAt: string): void {
  const seen = new Set<string>();
  for (const [index, { name, parameters, strict }] of tools.entries()) {
    checkName(name, `tools[${index}].${nameAt}`);
    if (seen.has(name)) throw badRequest(`Tool names must be unique: '${name}'.`, "tools", "invalid_value");
    seen.add(name);
    checkSchema({ schema: parameters, strict, isTool: true }, `function '${name}'`, "tools.function.parameters");
  }
  const forced = isObject(choice)
    ? (choice["name"] ?? (isObject(choice["function"]) ? choice["function"]["name"] : undefined))
    : undefined;
  if (typeof forced === "string" && !seen.has(forced)) {
    throw badRequest(`Tool choice '${forced}' not found in 'tools' parameter.`, "tool_choice");
  }
  if (choice !== undefined && choice !== null && tools.length === 0 && choice !== "none" && choice !== "auto") {
    throw badRequest(
      "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
      "tool_choice",
    );
  }
}

/** A call's arguments for rules to read; {} when they are no JSON object. */
export function readArguments(call: SimulatedCall | undefined): JsonObject {
  try {
    const value: unknown = JSON.parse(call?.arguments ?? "{}");
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Whether a mark for the prompt cache stands in a content: its parts are one text then. */
export function isMarked(content: readonly unknown[]): boolean {
  return content.some((part) => isObject(part) && part["prompt_cache_breakpoint"] !== undefined);
}
