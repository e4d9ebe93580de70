import type { Tool, ToolCall } from "@proviso/core";
import { isRecord, parseJson } from "@proviso/core/provider";
import {
  describeIssues,
  frozenInDepth,
  parseWithSchema,
  type SchemaResult,
  messageOf,
  pathText,
  isNonNullObject,
  isObjectOrFunction,
} from "@proviso/core/internal";

export type Arguments = { readonly ok: true; readonly input: unknown } | { readonly ok: false; readonly error: string };

/** The model's arguments as the tool wants them, or what is wrong with them; at once where the schema is. */
export function parseArguments(tool: Tool, call: ToolCall): Arguments | Promise<Arguments> {
  const given = decode(call.arguments);
  return given.ok ? validateInput(tool, given.input) : given;
}

/**
 * What the model, or a policy in its place, wants done: checked with the tool's schema, then frozen at every depth, so
 * that what a policy approves is what is recorded and what the handler gets. Of what cannot be frozen, a Date say, which
 * only a transforming schema or a policy brings in, `ownInput` gives each who asks their own.
 */
export function validateInput(tool: Tool, given: unknown): Arguments | Promise<Arguments> {
  const unchecked = (error: unknown): Arguments => {
    return { ok: false, error: `The arguments of ${tool.name} could not be checked: ${messageOf(error)}` };
  };
  try {
    const result = parseWithSchema(tool.input, given);
    if (result instanceof Promise) return result.then((late) => checked(tool, late)).catch(unchecked);
    return checked(tool, result);
  } catch (error) {
    return unchecked(error);
  }
}

function checked(tool: Tool, result: SchemaResult<unknown>): Arguments {
  if (result.ok) return { ok: true, input: kept(result.value) };
  return {
    ok: false,
    error: `The arguments of ${tool.name} do not fit: ${describeIssues(result.issues, result.unlisted)}.`,
  };
}

/** Inputs that can be changed though they are frozen; no other code holds a reference to them. */
const changeable = new WeakSet<object>();

function kept(input: unknown): unknown {
  if (!isNonNullObject(input)) return input;
  if (isPlainData(input)) return frozenInDepth(input);
  const copy = frozenCopy(input);
  changeable.add(copy);
  return copy;
}

/** The input as one gets it who may try to change it: a policy, or the handler. */
export function ownInput(input: unknown): unknown {
  return isNonNullObject(input) && changeable.has(input) ? frozenCopy(input) : input;
}

function frozenCopy(input: object): object {
  const copy = copyOf(input) as object;
  // Bytes cannot be frozen.
  return ArrayBuffer.isView(copy) ? copy : frozenInDepth(copy);
}

/** "" and null mean `{}`. */
function decode(text: string): Arguments {
  if (text.trim() === "") return { ok: true, input: {} };
  const parsed = parseJson(text);
  if (!parsed.ok)
    return { ok: false, error: `The arguments could not be read: ${parsed.error}. Send one JSON object.` };
  if (parsed.value === null) return { ok: true, input: {} };
  if (isRecord(parsed.value)) return { ok: true, input: parsed.value };
  const found = Array.isArray(parsed.value) ? "an array" : `a ${typeof parsed.value}`;
  return { ok: false, error: `The arguments must be one JSON object, not ${found}.` };
}

/**
 * Whether both are the same: plain data, Dates, bytes, Maps and Sets by what they hold, in the same order. An instance of a
 * class is the same only as itself.
 */
export function isSameInput(one: unknown, other: unknown, depth = 0): boolean {
  if (Object.is(one, other)) return true;
  if (!isObjectOrFunction(one) || !isObjectOrFunction(other) || depth > deepest) return false;
  const kind = kindOf(one);
  if (kind !== kindOf(other)) return false;
  const same = (a: readonly unknown[], b: readonly unknown[]): boolean =>
    a.length === b.length && a.every((item, index) => isSameInput(item, b[index], depth + 1));
  switch (kind) {
    case "list":
      return same(one as unknown[], other as unknown[]);
    case "date":
      return Object.is((one as Date).getTime(), (other as Date).getTime());
    case "bytes":
      return same([...bytesOf(one)], [...bytesOf(other)]);
    case "map":
    case "set":
      return same([...(one as Iterable<unknown>)], [...(other as Iterable<unknown>)]);
    case "object": {
      const [a, b] = [one as Record<string, unknown>, other as Record<string, unknown>];
      const keys = Object.keys(a);
      if (keys.length !== Object.keys(b).length) return false;
      return keys.every((key) => Object.hasOwn(b, key) && isSameInput(a[key], b[key], depth + 1));
    }
    case "instance":
      return false;
  }
}

/** Deeper than arguments may be, by far. */
const deepest = 256;

/** Whether nothing of it can be changed once it is frozen. */
function isPlainData(value: unknown, depth = 0): boolean {
  if (!isObjectOrFunction(value)) return true;
  if (depth > deepest) return false;
  const kind = kindOf(value);
  if (kind !== "list" && kind !== "object") return false;
  if (kind === "list") return (value as unknown[]).every((item) => isPlainData(item, depth + 1));
  const fields = value as Readonly<Record<string, unknown>>;
  // Plain objects inherit nothing, and a list of the values would be made for each of them.
  for (const key in fields) if (!isPlainData(fields[key], depth + 1)) return false;
  return true;
}

/** Copies Dates, bytes, Maps and Sets at every depth; instances of classes stay as they were. Nothing is frozen yet. */
function copyOf(value: unknown, known: Map<object, unknown> = new Map()): unknown {
  if (!isObjectOrFunction(value)) return value;
  if (known.has(value)) return known.get(value);
  const inner = (item: unknown): unknown => copyOf(item, known);
  const kept = <T extends object>(copy: T): T => {
    known.set(value, copy);
    return copy;
  };
  switch (kindOf(value)) {
    case "date":
      return kept(new Date((value as Date).getTime()));
    case "bytes":
      return kept(structuredClone(value));
    case "list": {
      const copy: unknown[] = kept([]);
      for (const item of value as unknown[]) copy.push(inner(item));
      return copy;
    }
    case "map": {
      const copy = kept(new Map<unknown, unknown>());
      for (const [key, item] of value as Map<unknown, unknown>) copy.set(inner(key), inner(item));
      return copy;
    }
    case "set": {
      const copy = kept(new Set<unknown>());
      for (const item of value as Set<unknown>) copy.add(inner(item));
      return copy;
    }
    case "object": {
      const copy: Record<string, unknown> = kept(Object.create(Object.getPrototypeOf(value) as object | null));
      for (const [key, item] of Object.entries(value)) copy[key] = inner(item);
      return copy;
    }
    case "instance":
      return value;
  }
}

/** The first instance of a class in it, which can be neither frozen nor copied, in words; undefined where there is none. */
export function instanceIn(value: unknown): string | undefined {
  const found = findInstance(value, [], new Set());
  if (found === undefined) return undefined;
  const { name } = (found.instance.constructor ?? {}) as { readonly name?: unknown };
  const made = typeof name === "string" && name !== "" ? name : "a class";
  const what = typeof found.instance === "function" ? "a function" : `an instance of ${made}`;
  return `${found.path.length === 0 ? "it" : pathText("", found.path)} is ${what}`;
}

interface FoundInstance {
  readonly path: readonly PropertyKey[];
  readonly instance: object;
}

function findInstance(value: unknown, path: readonly PropertyKey[], seen: Set<object>): FoundInstance | undefined {
  if (!isObjectOrFunction(value) || seen.has(value)) return undefined;
  seen.add(value);
  const kind = kindOf(value);
  if (kind === "instance") return { path, instance: value };
  for (const [key, item] of partsOf(value, kind)) {
    const found = findInstance(item, [...path, key], seen);
    if (found !== undefined) return found;
  }
  return undefined;
}

function partsOf(value: object, kind: Kind): readonly (readonly [PropertyKey, unknown])[] {
  if (kind === "object") return Object.entries(value);
  if (kind === "list" || kind === "set") return [...(value as Iterable<unknown>)].map((item, at) => [at, item]);
  if (kind !== "map") return [];
  return [...(value as Map<unknown, unknown>)].flatMap(([key, item]) => {
    const name = typeof key === "string" || typeof key === "number" ? key : "(an entry)";
    return [
      ["(a key)", key],
      [name, item],
    ] as const;
  });
}

type Kind = "object" | "list" | "date" | "bytes" | "map" | "set" | "instance";

function kindOf(value: object): Kind {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (Array.isArray(value)) return "list";
  if (typeof value === "function") return "instance";
  if (prototype === Object.prototype || prototype === null) return "object";
  if (prototype === Date.prototype) return "date";
  if (prototype === Map.prototype) return "map";
  if (prototype === Set.prototype) return "set";
  const isBytes = value instanceof ArrayBuffer || (ArrayBuffer.isView(value) && isBuiltIn(prototype));
  return isBytes ? "bytes" : "instance";
}

/** A typed array or a DataView, and no subclass of one, which a copy would lose. */
function isBuiltIn(prototype: unknown): boolean {
  const { constructor: made } = prototype as { readonly constructor?: { readonly name?: unknown } };
  return typeof made?.name === "string" && (globalThis as Record<string, unknown>)[made.name] === made;
}

function bytesOf(value: object): Uint8Array {
  if (!ArrayBuffer.isView(value)) return new Uint8Array(value as ArrayBuffer);
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}
