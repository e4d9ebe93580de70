import { badRequest, type Refusal } from "./refusal.ts";
import { isObject, type JsonObject } from "./types.ts";

interface CheckedSchema {
  readonly schema: JsonObject;
  readonly strict: boolean;
  /** Whether it is a tool's input. Default: it is an output's. */
  readonly isTool?: boolean;
}

/** @throws {Refusal} for a schema that OpenAI's services cannot compile, and for a strict one that is not strict. */
export function checkSchema({ schema, strict, isTool = false }: CheckedSchema, owner: string, param: string): void {
  checkPatterns(schema, "$", param);
  if (!isTool) checkNames(schema, owner, param);
  if (strict) checkStrict(schema, owner, param);
}

/** The schema of an output, strict or not, names no keys. Source: https://github.com/vercel/ai/pull/20621. */
function checkNames(node: unknown, owner: string, param: string, context: readonly string[] = []): void {
  if (typeof node !== "object" || node === null) return;
  const isSchema = !["properties", "$defs", "definitions"].includes(context.at(-1) ?? "");
  if (isSchema && "propertyNames" in node)
    throw notPermitted(owner, param, context, "'propertyNames' is not permitted.");
  for (const [key, inner] of Object.entries(node)) checkNames(inner, owner, param, [...context, key]);
}

function notPermitted(owner: string, param: string, context: readonly string[], problem: string): Refusal {
  const where = `In context=(${context.map((part) => `'${part}'`).join(", ")}), `;
  return badRequest(`Invalid schema for ${owner}: ${where}${problem}`, param, "invalid_json_schema");
}

/** Whether a pattern looks ahead or behind: escaped signs, and those in a class, are signs and no more. */
function looksAround(pattern: string): boolean {
  return /\(\?<?[=!]/.test(pattern.replaceAll(/\\.|\[(?:\\.|[^\]\\])*\]/gs, "_"));
}

/** Source: https://github.com/vercel/ai/pull/21037. */
function checkPatterns(node: unknown, path: string, param: string): void {
  if (typeof node !== "object" || node === null) return;
  for (const [key, inner] of Object.entries(node)) {
    const at = Array.isArray(node) ? `${path}[${key}]` : `${path}.${key}`;
    checkPatterns(inner, at, param);
    if (key !== "pattern" || typeof inner !== "string" || !looksAround(inner)) continue;
    const why = `Invalid JSON schema: regex lookaround is not supported. Found at ${at}.`;
    throw badRequest(why, param, "invalid_json_schema");
  }
}

const forbidden =
  "allOf oneOf not if prefixItems patternProperties propertyNames uniqueItems minProperties maxProperties".split(" ");

/** The rules of strict schemas. Source: OpenAI's Structured Outputs guide. */
function checkStrict(schema: JsonObject, owner: string, param: string): void {
  const refuse = (context: readonly string[], problem: string): never => {
    throw notPermitted(owner, param, context, problem);
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
