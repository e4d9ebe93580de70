import { badRequest } from "./refusal.ts";
import { isObject, type JsonObject } from "./types.ts";

/** @throws {Refusal} for a schema that OpenAI's services cannot compile, and for a strict one that is not strict. */
export function checkSchema(
  { schema, strict }: { readonly schema: JsonObject; readonly strict: boolean },
  owner: string,
  param: string,
): void {
  checkPatterns(schema, "$", param);
  if (strict) checkStrict(schema, owner, param);
}

/** Source: https://github.com/vercel/ai/pull/21037. */
function checkPatterns(node: unknown, path: string, param: string): void {
  if (typeof node !== "object" || node === null) return;
  for (const [key, inner] of Object.entries(node)) {
    const at = Array.isArray(node) ? `${path}[${key}]` : `${path}.${key}`;
    checkPatterns(inner, at, param);
    if (key !== "pattern" || typeof inner !== "string" || !/\(\?<?[=!]/.test(inner)) continue;
    const why = `Invalid JSON schema: regex lookaround is not supported. Found at ${at}.`;
    throw badRequest(why, param, "invalid_json_schema");
  }
}

const forbidden =
  "allOf oneOf not if prefixItems patternProperties propertyNames uniqueItems minProperties maxProperties".split(" ");

/** The rules of strict schemas. Source: OpenAI's Structured Outputs guide. */
function checkStrict(schema: JsonObject, owner: string, param: string): void {
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
