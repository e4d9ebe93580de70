import { badRequest, invalidType, missingParameter, unknownParameter } from "./refusal.ts";
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
export function checkNumbers(body: JsonObject, maxTokensName: string): void {
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
  const tokens = body[maxTokensName];
  if (tokens !== undefined && tokens !== null && !(Number.isInteger(tokens) && (tokens as number) > 0)) {
    throw badRequest(`Invalid '${maxTokensName}': expected a positive integer.`, maxTokensName, "invalid_value");
  }
}

const toolName = /^[a-zA-Z0-9_-]{1,64}$/;

export function checkTools(tools: readonly SimulatedTool[], choice: unknown): void {
  const seen = new Set<string>();
  for (const { name, parameters, strict } of tools) {
    if (!toolName.test(name)) {
      throw badRequest(
        `Invalid 'tools[].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
        "tools",
        "invalid_value",
      );
    }
    if (seen.has(name)) throw badRequest(`Tool names must be unique: '${name}'.`, "tools", "invalid_value");
    seen.add(name);
    if (strict) checkStrict(parameters, `function '${name}'`, "tools.function.parameters");
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

const forbidden =
  "allOf oneOf not if prefixItems patternProperties propertyNames uniqueItems minProperties maxProperties".split(" ");

/** The rules of strict schemas. Source: OpenAI's Structured Outputs guide. */
export function checkStrict(schema: JsonObject, owner: string, param: string): void {
  const refuse = (context: readonly string[], problem: string): never => {
    const where = `In context=(${context.map((part) => `'${part}'`).join(", ")}), `;
    throw badRequest(`Invalid schema for ${owner}: ${where}${problem}`, param, "invalid_json_schema");
  };
  const visit = (node: unknown, context: readonly string[]): void => {
    if (!isObject(node)) return;
    const keyword = forbidden.find((name) => name in node);
    if (keyword !== undefined) refuse(context, `'${keyword}' is not permitted.`);
    const properties = isObject(node["properties"]) ? node["properties"] : undefined;
    const isObjectType = node["type"] === "object" || (Array.isArray(node["type"]) && node["type"].includes("object"));
    if (isObjectType || properties !== undefined) {
      if (node["additionalProperties"] !== false)
        refuse(context, "'additionalProperties' is required to be supplied and to be false.");
      const required = new Set(Array.isArray(node["required"]) ? (node["required"] as unknown[]) : []);
      const missing = Object.keys(properties ?? {}).find((key) => !required.has(key));
      if (missing !== undefined) {
        refuse(
          context,
          `'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`,
        );
      }
    }
    for (const [key, inner] of Object.entries(properties ?? {})) visit(inner, [...context, "properties", key]);
    if (node["items"] !== undefined) visit(node["items"], [...context, "items"]);
    if (Array.isArray(node["anyOf"]))
      node["anyOf"].forEach((branch, index) => visit(branch, [...context, "anyOf", String(index)]));
    for (const [key, inner] of Object.entries(isObject(node["$defs"]) ? node["$defs"] : {}))
      visit(inner, [...context, "$defs", key]);
  };
  if (schema["type"] !== "object" || "anyOf" in schema) {
    refuse(
      [],
      `schema must be a JSON Schema of 'type: "object"', got 'type: ${JSON.stringify(schema["type"]) ?? "None"}'.`,
    );
  }
  visit(schema, []);
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
