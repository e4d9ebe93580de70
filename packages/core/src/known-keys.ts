// A JSON Schema read for its keys alone: which of them it knows at a place, and what stands below them.
import { isRecord } from "./values.ts";
import { mayFit, resolveRef, type JsonSchema } from "./json-schema.ts";

/** The rules of a schema for one place: objects that hold together (references and `allOf` resolved), and unions. */
export interface Place {
  readonly objects: readonly ObjectKeys[];
  readonly unions: readonly (readonly unknown[])[];
}
/** One object of a JSON Schema. */
interface ObjectKeys {
  readonly schema: JsonSchema;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly patterns: readonly (readonly [RegExp, unknown])[];
  readonly required: ReadonlySet<unknown>;
  /** Takes no key beside these. */
  readonly isClosed: boolean;
}
/** The objects of a place with one branch of each union: a key is known when one of them knows it. None: anything is. */
export type Objects = readonly ObjectKeys[];

/** "open": taken without being named. */
export type Knows = "named" | "open" | "no";

export interface KnownKeys {
  readonly root: Place;
  /** The branches of a union that may be meant by the value. */
  branches(union: readonly unknown[], value: object): readonly Place[];
  knows(objects: Objects, key: string): Knows;
  below(objects: Objects, key: string): Place;
  items(objects: Objects): (index: number) => Place;
}

/** A place without rules: any key may stand there. */
export const anywhere: Place = { objects: [], unions: [] };

const known = new WeakMap<JsonSchema, KnownKeys>();

/** Read when it is first needed, and once. */
export function knownKeys(root: JsonSchema): KnownKeys {
  let keys = known.get(root);
  if (keys === undefined) known.set(root, (keys = readKeys(root)));
  return keys;
}

function readKeys(root: JsonSchema): KnownKeys {
  const ids = new Map<unknown, number>();
  const single = new Map<unknown, Place>();
  const several = new Map<string, Place>();
  const idOf = (schema: unknown): number => {
    const id = ids.get(schema) ?? ids.size;
    ids.set(schema, id);
    return id;
  };
  /** Returns the place of these schemas together: one object for the same schemas, so that it can be remembered. */
  const placeOf = (schemas: readonly unknown[]): Place => {
    const [only, ...others] = schemas;
    if (others.length > 0) return remember(several, schemas.map(idOf).join(","), () => readPlace(root, schemas));
    return schemas.length === 0 ? anywhere : remember(single, only, () => readPlace(root, schemas));
  };
  return {
    root: placeOf([root]),
    branches: (union, value) =>
      union.filter((branch) => isRecord(branch) && mayFit(root, branch, value)).map((branch) => placeOf([branch])),
    knows(objects, key) {
      let knows: Knows = objects.length === 0 ? "open" : "no";
      for (const each of objects) {
        const known = schemaBelow(each, key)?.knows;
        if (known === "named") return known;
        knows = known ?? knows;
      }
      return knows;
    },
    below(objects, key) {
      const found = objects.map((each) => schemaBelow(each, key)).filter((below) => below !== undefined);
      return placeOf(found.map(({ schema }) => schema));
    },
    items(objects) {
      const prefixes = objects.map(({ schema }): readonly unknown[] =>
        Array.isArray(schema["prefixItems"]) ? schema["prefixItems"] : [],
      );
      const longest = Math.max(0, ...prefixes.map(({ length }) => length));
      const placeAt = (index: number): Place =>
        placeOf(objects.map(({ schema }, at) => prefixes[at]?.[index] ?? schema["items"]));
      const rest = placeAt(longest);
      return (index) => (index < longest ? placeAt(index) : rest);
    },
  };
}

function remember<K>(places: Map<K, Place>, key: K, read: () => Place): Place {
  const place = places.get(key) ?? read();
  places.set(key, place);
  return place;
}

/** What an object's schema says below a key; undefined where it does not know the key. */
function schemaBelow(
  { schema, properties, patterns, isClosed }: ObjectKeys,
  key: string,
): { readonly knows: Knows; readonly schema: unknown } | undefined {
  if (Object.hasOwn(properties, key)) return { knows: "named", schema: properties[key] };
  const pattern = patterns.find(([source]) => source.test(key));
  if (pattern !== undefined) return { knows: "named", schema: pattern[1] };
  return isClosed ? undefined : { knows: "open", schema: schema["additionalProperties"] };
}

function readPlace(root: JsonSchema, schemas: readonly unknown[]): Place {
  const objects: ObjectKeys[] = [];
  const unions: (readonly unknown[])[] = [];
  const seen = new Set<unknown>();
  /** Whether the schema has a rule: where one part of an intersection takes every key, all are known. */
  const hasRule = (schema: unknown): boolean => {
    if (seen.has(schema)) return true;
    seen.add(schema);
    if (!isRecord(schema)) return false;
    const { $ref, allOf, anyOf, oneOf } = schema;
    const union = anyOf ?? oneOf;
    const parts: unknown[] = [
      ...(typeof $ref === "string" ? [resolveRef(root, $ref)] : []),
      ...(Array.isArray(allOf) ? (allOf as unknown[]) : []),
    ];
    if (Array.isArray(union)) unions.push(union as unknown[]);
    // Keys may be named beside them too.
    const isPlain = parts.length === 0 && !Array.isArray(union);
    if (isPlain || "properties" in schema) {
      const own = objectKeys(schema);
      if (own === undefined) return false;
      objects.push(own);
    }
    return parts.every(hasRule);
  };
  return schemas.every(hasRule) ? { objects, unions } : anywhere;
}

/** Returns undefined where the schema has no rule for keys, nor for what is below them. */
function objectKeys(schema: JsonSchema): ObjectKeys | undefined {
  const properties = isRecord(schema["properties"]) ? schema["properties"] : {};
  const patterned = isRecord(schema["patternProperties"]) ? Object.entries(schema["patternProperties"]) : [];
  const patterns = patterned.map(([source, below]) => [new RegExp(source, "u"), below] as const);
  const rest = schema["additionalProperties"];
  const isObject = schema["type"] === "object" || "properties" in schema;
  const isClosed = isObject && (rest === false || (rest === undefined && patterns.length === 0));
  const isSilent = !isClosed && patterns.length === 0 && Object.keys(properties).length === 0 && !isRecord(rest);
  if (isSilent && schema["items"] === undefined && schema["prefixItems"] === undefined) return undefined;
  const required = new Set<unknown>(Array.isArray(schema["required"]) ? schema["required"] : []);
  return { schema, properties, patterns, required, isClosed };
}
