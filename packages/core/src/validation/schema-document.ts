// 1. A document is a tree of its own: it was copied, so the same object never stands at two places of it.
// 2. Every reference is resolved and every pattern compiled while the document is read: checking a value meets neither
//    a missing target nor a broken pattern.
import { isRecord } from "../values.ts";
import type { JsonSchema } from "../json-schema.ts";
import type { SchemaIssue } from "../schema-issue.ts";
import { compilePattern, type Pattern } from "./pattern.ts";
import { keywordFaults, schemasBelow } from "./schema-keywords.ts";

/** A schema or one of its parts: `true` takes everything, `false` nothing. */
export type SchemaNode = JsonSchema | boolean;

/** A JSON Schema whose references and patterns are known. */
export interface SchemaDocument {
  readonly root: SchemaNode;
  /** The schemas that a part refers to, by the keyword. */
  readonly references: ReadonlyMap<JsonSchema, References>;
  /** The part with an identifier of its own in which a part stands. */
  readonly resources: ReadonlyMap<JsonSchema, SchemaResource>;
  /** Compiled patterns, by their source. */
  readonly patterns: ReadonlyMap<string, Pattern>;
}

/** What a `$ref` and a `$dynamicRef` of a part lead to. */
export interface References {
  readonly fixed?: SchemaNode | undefined;
  readonly dynamic?: { readonly target: SchemaNode; readonly anchor: string | undefined } | undefined;
}

/** The root, or a part with an `$id` of its own. */
export interface SchemaResource {
  readonly root: SchemaNode;
  readonly anchors: Map<string, SchemaNode>;
  readonly dynamicAnchors: Map<string, SchemaNode>;
}

type Reading = {
  readonly resources: Map<JsonSchema, SchemaResource>;
  readonly byAddress: Map<string, SchemaResource>;
  readonly bases: Map<JsonSchema, string>;
  readonly patterns: Map<string, Pattern>;
  readonly faults: SchemaIssue[];
  parts: number;
};

/** The address of a document that has none. */
const noAddress = "proviso:///schema";
const deepest = 200;
const mostParts = 100_000;

/** Reads a schema of plain JSON, or says what is wrong with it. */
export function readSchema(root: SchemaNode): SchemaDocument | { readonly faults: readonly SchemaIssue[] } {
  const reading: Reading = {
    resources: new Map(),
    byAddress: new Map(),
    bases: new Map(),
    patterns: new Map(),
    faults: [],
    parts: 0,
  };
  const resource = newResource(root);
  reading.byAddress.set(noAddress, resource);
  readPart(reading, root, { base: noAddress, resource, path: [] });
  const references = resolveAll(reading);
  if (reading.faults.length > 0) return { faults: reading.faults };
  return { root, references, resources: reading.resources, patterns: reading.patterns };
}

function newResource(root: SchemaNode): SchemaResource {
  return { root, anchors: new Map(), dynamicAnchors: new Map() };
}

interface Place {
  readonly base: string;
  readonly resource: SchemaResource;
  readonly path: readonly string[];
}

function readPart(reading: Reading, schema: unknown, place: Place): void {
  const { faults } = reading;
  const path = place.path.join(".");
  if (typeof schema === "boolean") return;
  if (!isRecord(schema)) return void faults.push({ path, message: "must be a schema: an object or a boolean" });
  if (reading.resources.has(schema)) return;
  if (place.path.length > deepest)
    return void faults.push({ path, message: `is nested deeper than ${deepest} levels` });
  if (++reading.parts > mostParts) {
    if (reading.parts === mostParts + 1) faults.push({ path, message: `has more than ${mostParts} parts` });
    return;
  }
  const here = placeOf(reading, schema, place);
  reading.resources.set(schema, here.resource);
  reading.bases.set(schema, here.base);
  for (const { key, message } of keywordFaults(schema)) faults.push({ path: [...place.path, key].join("."), message });
  for (const [keyword, anchors] of [
    ["$anchor", here.resource.anchors],
    ["$dynamicAnchor", here.resource.dynamicAnchors],
  ] as const) {
    const name = schema[keyword];
    if (typeof name === "string") anchors.set(name, schema);
  }
  for (const source of patternsOf(schema)) compile(reading, source, path);
  for (const { keys, part } of schemasBelow(schema))
    readPart(reading, part, { ...here, path: [...place.path, ...keys] });
}

/** Where a part stands that may have an `$id` of its own. */
function placeOf(reading: Reading, schema: JsonSchema, place: Place): Place {
  const { $id } = schema;
  if (typeof $id !== "string" || $id.startsWith("#")) return place;
  const base = addressOf($id, place.base)?.address ?? place.base;
  const isRoot = place.path.length === 0;
  const resource = isRoot ? place.resource : newResource(schema);
  reading.byAddress.set(base, resource);
  return { base, resource, path: place.path };
}

function patternsOf({ pattern, patternProperties }: JsonSchema): readonly string[] {
  const keys = isRecord(patternProperties) ? Object.keys(patternProperties) : [];
  return typeof pattern === "string" ? [pattern, ...keys] : keys;
}

function compile({ patterns, faults }: Reading, source: string, path: string): void {
  const pattern = compilePattern(source);
  if (pattern !== undefined) patterns.set(source, pattern);
  else {
    const message = `has a pattern that is no regular expression: ${JSON.stringify(source.slice(0, 200))}`;
    faults.push({ path, message });
  }
}

/** Resolves every reference; what a pointer leads to is read too, wherever it stands. */
function resolveAll(reading: Reading): Map<JsonSchema, References> {
  const references = new Map<JsonSchema, References>();
  // The map grows while it is walked through.
  for (const [schema] of reading.resources) {
    const { $ref, $dynamicRef } = schema;
    const fixed = typeof $ref === "string" ? resolve(reading, schema, $ref) : undefined;
    const found = typeof $dynamicRef === "string" ? resolve(reading, schema, $dynamicRef) : undefined;
    if (fixed === undefined && found === undefined) continue;
    const anchor = found?.anchor !== undefined && found.isDynamic ? found.anchor : undefined;
    references.set(schema, {
      fixed: fixed?.target,
      dynamic: found === undefined ? undefined : { target: found.target, anchor },
    });
  }
  return references;
}

interface Resolved {
  readonly target: SchemaNode;
  readonly anchor: string | undefined;
  readonly isDynamic: boolean;
}

function resolve(reading: Reading, schema: JsonSchema, reference: string): Resolved | undefined {
  const refuse = (why: string): undefined =>
    void reading.faults.push({ path: "", message: `refers to ${JSON.stringify(reference.slice(0, 200))}, ${why}` });
  const { address = "", fragment = "" } = addressOf(reference, reading.bases.get(schema) ?? noAddress) ?? {};
  const resource = reading.byAddress.get(address);
  if (resource === undefined) return refuse("which is not in this schema: nothing is fetched");
  if (fragment !== "" && !fragment.startsWith("/")) {
    const dynamic = resource.dynamicAnchors.get(fragment);
    const target = dynamic ?? resource.anchors.get(fragment);
    return target === undefined
      ? refuse("an anchor that nothing has")
      : { target, anchor: fragment, isDynamic: dynamic !== undefined };
  }
  const target = pointedAt(resource.root, fragment);
  if (typeof target !== "boolean" && !isRecord(target)) return refuse("where no schema stands");
  readPart(reading, target, { base: address, resource, path: [reference] });
  return { target, anchor: undefined, isDynamic: false };
}

function pointedAt(root: SchemaNode, pointer: string): unknown {
  let at: unknown = root;
  for (const name of pointer.split("/").slice(1)) {
    const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[key];
  }
  return at;
}

function addressOf(
  reference: string,
  base: string,
): { readonly address: string; readonly fragment: string } | undefined {
  try {
    const url = new URL(reference, base);
    const fragment = decodeURIComponent(url.hash.slice(1));
    url.hash = "";
    return { address: url.href, fragment };
  } catch {
    return undefined;
  }
}
