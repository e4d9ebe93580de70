import { isRecord } from "./values.ts";

/** A JSON Schema as plain data, as providers take it. */
export type JsonSchema = { readonly [key: string]: unknown };

/** A branch fits when its type does, and the properties that are constants or enums (a discriminator). */
export function mayFit(root: JsonSchema, branch: JsonSchema, at: object): boolean {
  const schema = typeof branch["$ref"] === "string" ? resolveRef(root, branch["$ref"]) : branch;
  if (!isRecord(schema)) return false;
  const type = schema["type"];
  if (type !== undefined && ![type].flat().includes(Array.isArray(at) ? "array" : "object")) return false;
  const properties = isRecord(schema["properties"]) ? schema["properties"] : {};
  return Object.entries(properties).every(([key, property]) => {
    if (!isRecord(property) || !Object.hasOwn(at, key)) return true;
    const value = (at as Record<string, unknown>)[key];
    if ("const" in property) return property["const"] === value;
    return !Array.isArray(property["enum"]) || property["enum"].includes(value);
  });
}

/** A local reference ("#/$defs/Name" or "#"); undefined when it leads nowhere. */
export function resolveRef(root: JsonSchema, ref: string): unknown {
  if (!ref.startsWith("#")) return undefined;
  const names = ref
    .slice(1)
    .split("/")
    .filter((name) => name !== "");
  return names.reduce<unknown>((at, name) => {
    const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
    return isRecord(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }, root);
}
