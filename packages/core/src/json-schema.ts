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

const definitions: ReadonlySet<string> = new Set(["$defs", "definitions"]);

/** Whether a schema has parts of its own kind, at any remove. */
export function isRecursive(root: JsonSchema): boolean {
  const done = new Set<string>();
  const comesBack = (node: unknown, within: readonly string[], areNamed = false): boolean => {
    if (typeof node !== "object" || node === null) return false;
    // Properties may have the name of any keyword.
    if (areNamed) return Object.values(node).some((part) => comesBack(part, within));
    const { $ref: ref } = node as JsonSchema;
    if (typeof ref === "string") {
      if (within.includes(ref)) return true;
      if (!done.has(ref) && comesBack(resolveRef(root, ref), [...within, ref])) return true;
      done.add(ref);
    }
    return Object.entries(node).some(
      ([key, part]) => !definitions.has(key) && comesBack(part, within, partKeywords.records.includes(key)),
    );
  };
  return comesBack(root, ["#"]);
}

/** Keywords under which schemas stand: one, a list of them, or a record of them. */
export interface PartKeywords {
  readonly one: readonly string[];
  readonly lists: readonly string[];
  readonly records: readonly string[];
}

/** The keywords of what a value consists of, or may be one of. */
export const partKeywords: PartKeywords = {
  one: ["items", "additionalProperties"],
  lists: ["anyOf", "oneOf", "prefixItems"],
  records: ["properties", "patternProperties", "$defs", "definitions"],
};

/** Maps each of the schemas below a schema. `under`: the keyword, and in a record a slash and the name. */
export function mapParts(
  schema: JsonSchema,
  map: (part: JsonSchema, under: string) => JsonSchema,
  { one, lists, records }: PartKeywords = partKeywords,
): JsonSchema {
  const out: Record<string, unknown> = { ...schema };
  const mapped = (part: unknown, under: string): unknown => (isRecord(part) ? map(part, under) : part);
  for (const keyword of one) if (keyword in out) out[keyword] = mapped(out[keyword], keyword);
  for (const keyword of lists) {
    const list = out[keyword];
    if (Array.isArray(list)) out[keyword] = list.map((item) => mapped(item, keyword));
  }
  for (const keyword of records) {
    const record = out[keyword];
    if (!isRecord(record)) continue;
    const each = ([name, item]: [string, unknown]) => [name, mapped(item, `${keyword}/${name}`)] as const;
    out[keyword] = Object.fromEntries(Object.entries(record).map(each));
  }
  return out;
}
