import { messageOf } from "./values.ts";

/** What `parseJson` answers with; `error` says what is wrong with the text. */
export type JsonResult =
  | {
      readonly ok: true;
      /** The parsed value. */
      readonly value: unknown;
    }
  | {
      readonly ok: false;
      /** Why the text is refused. */
      readonly error: string;
    };

/** How large a JSON text may be for `parseJson`. */
export interface JsonLimits {
  /** The number of levels that objects and lists may be nested. Default 64. */
  readonly maxDepth?: number | undefined;
  /** UTF-16 units of text. Default 1 MiB. */
  readonly maxLength?: number | undefined;
}

const forbiddenKeys: readonly string[] = ["__proto__", "constructor", "prototype"];

/** A key that could reach a prototype: no JSON that is read or kept may have it. */
export function isForbiddenKey(key: string): boolean {
  return forbiddenKeys.includes(key);
}

/**
 * The one parser for JSON from models, files and the wire: bounded in size and depth, without keys that could reach a
 * prototype.
 */
export function parseJson(text: string, { maxDepth = 64, maxLength = 1024 * 1024 }: JsonLimits = {}): JsonResult {
  if (text.length > maxLength) {
    return { ok: false, error: `larger than ${maxLength} characters (${text.length})` };
  }
  // A short text has no room for so many brackets.
  if (text.length > maxDepth && nestsDeeper(text, maxDepth))
    return { ok: false, error: `nested deeper than ${maxDepth} levels` };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { ok: false, error: `not JSON: ${withoutExcerpts((error as SyntaxError).message)}` };
  }
  const key = mayHoldForbiddenKey(text) ? findForbiddenKey(value) : undefined;
  return key === undefined ? { ok: true, value } : { ok: false, error: `the key "${key}" is not allowed` };
}

/** What V8 shows of a text that is longer: `Unexpected token 's', ..."key": sk-ve"... is not valid JSON`. */
const cutExcerpt = /, (?:\.\.\.".{0,60}"|".{0,60}"\.\.\.)(?:\.\.\.)?(?= is not valid JSON)/gs;

/** The message of `JSON.parse` without its excerpt, which may end inside a secret: that is found no more then. */
export function withoutExcerpts(message: string): string {
  return message.replaceAll(cutExcerpt, "");
}

/**
 * Reads JSON that this framework wrote into a record of its own: of any size, and with whatever keys the values had that
 * were kept. Its readers check its form, and set none of its keys by name.
 */
export function parseOwnJson(text: string): JsonResult {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, error: `not JSON: ${(error as SyntaxError).message}` };
  }
}

function nestsDeeper(text: string, maxDepth: number): boolean {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (inString) {
      if (char === 92) i++;
      else if (char === 34) inString = false;
    } else if (char === 34) inString = true;
    else if (char === 123 || char === 91) {
      if (++depth > maxDepth) return true;
    } else if (char === 125 || char === 93) depth--;
  }
  return false;
}

/** JSON text may hold a key literally or with escapes. */
function mayHoldForbiddenKey(text: string): boolean {
  if (text.includes("\\")) return true;
  for (const key of forbiddenKeys) if (text.includes(key)) return true;
  return false;
}

function findForbiddenKey(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const key of Object.keys(value)) {
    if (!Array.isArray(value) && isForbiddenKey(key)) return key;
    const inner = findForbiddenKey((value as Record<string, unknown>)[key]);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

/** What stands for a copy that cannot be made. */
export const notPlain = Symbol("not plain data");
/** Deeper than that it may be a circle. */
export const deepestCopy = 100;

/** UTF-16 units of the texts and keys of a value; each item and each key counts as some more. */
export const largestValue = 16 * 1024 * 1024;
const costOfItem = 16;
/** Levels of a value that is no plain data. */
const deepestValue = 2_500;

/**
 * A copy of a value by its JSON encoding, bigint as a string, frozen at every depth; undefined when it has none: it is
 * circular, a function, throws when it is read, has more than 16 Mi characters (of which each item counts as 16), or lies
 * deeper than 2,500 levels. Never throws.
 */
export function toJsonValue(value: unknown): { readonly value: unknown } | undefined {
  if (value === null || typeof value === "boolean" || value === undefined) return { value };
  // JSON has no -0.
  if (typeof value === "number" && Number.isFinite(value)) return { value: value + 0 };
  try {
    const copy = plainCopy(value);
    if (copy !== undefined) return copy;
    // Bounded while it is written: a text may be longer than a string can be.
    let left = largestValue;
    const text = JSON.stringify(value, (key, item: unknown) => {
      left -= key.length + (typeof item === "string" ? item.length : 0) + costOfItem;
      if (left < 0) throw new RangeError("too large");
      return typeof item === "bigint" ? item.toString() : item;
    });
    if (text === undefined || nestsDeeper(text, deepestValue)) return undefined;
    return { value: frozenJson(JSON.parse(text)) };
  } catch {
    return undefined;
  }
}

/**
 * Why JSON.stringify cannot write a value: a bigint, a circle, a getter that throws; undefined where it can. Plain data is
 * looked through without being written.
 */
export function whyNoJson(value: unknown): string | undefined {
  try {
    if (!isWritable(value, 0)) JSON.stringify(value);
    return undefined;
  } catch (error) {
    if (isOutOfStack(error)) return `it ${tooDeep}.`;
    return messageOf(error);
  }
}

/** What a walk through a value found, in words. */
export const tooDeep = "nests too deep";

/** Whether a walk through a value met the end of the stack, in the words of the engines. */
export function isOutOfStack(error: unknown): boolean {
  return error instanceof Error && /maximum call stack|too much recursion/iu.test(error.message);
}

/** false: perhaps not. */
function isWritable(value: unknown, depth: number): boolean {
  if (typeof value === "bigint") return false;
  if (typeof value !== "object" || value === null) return true;
  if (depth > deepestCopy || "toJSON" in value) return false;
  // JSON.stringify writes only the items of a list, whatever other properties it has.
  const items = Array.isArray(value) ? (value as readonly unknown[]) : Object.values(value);
  for (let at = 0; at < items.length; at++) if (!isWritable(items[at], depth + 1)) return false;
  return true;
}

/**
 * Copies plain JSON. Returns undefined for a value that JSON would change, that is nested too deep, or that is too
 * large.
 */
export function plainCopy(value: unknown): { readonly value: unknown } | undefined {
  const copy = copyOfPlain(value, 0, { left: largestValue });
  return copy === notPlain ? undefined : { value: copy };
}

interface Room {
  left: number;
}

/**
 * Objects, arrays and values of JSON as JSON would write and read them again, frozen: that costs half of a walk
 * afterwards. notPlain for anything else, and for what is too large: `room` is what it may still take.
 */
function copyOfPlain(value: unknown, depth: number, room: Room): unknown {
  if (typeof value === "string") return (room.left -= value.length) < 0 ? notPlain : value;
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value + 0 : notPlain;
  if (typeof value !== "object" || depth > deepestCopy || "toJSON" in value) return notPlain;
  if (Array.isArray(value)) return copyOfItems(value, depth, room);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return notPlain;
  // A spread takes symbols along.
  if (Object.getOwnPropertySymbols(value).length > 0) return copyByKey(value, depth, room);
  // The spread keeps the shape of the original; an empty object that grows reserves room, which adds up over many
  // copies.
  const copy: Record<string, unknown> = { ...value };
  // A list of the keys would be made for each of them.
  for (const key in copy) {
    const given = copy[key];
    // No JSON has undefined.
    if (given === undefined) return copyByKey(value, depth, room);
    const item = copyOfPlain(given, depth + 1, room);
    if (item === notPlain || key === "__proto__" || (room.left -= key.length + costOfItem) < 0) return notPlain;
    if (!Object.is(item, given)) copy[key] = item;
  }
  return Object.freeze(copy);
}

function copyByKey(value: object, depth: number, room: Room): unknown {
  const copy: Record<string, unknown> = {};
  for (const [key, given] of Object.entries(value)) {
    if (given === undefined) continue;
    const item = copyOfPlain(given, depth + 1, room);
    if (item === notPlain || key === "__proto__" || (room.left -= key.length + costOfItem) < 0) return notPlain;
    copy[key] = item;
  }
  return Object.freeze(copy);
}

function copyOfItems(items: readonly unknown[], depth: number, room: Room): unknown {
  // A list that grows by its items has room for sixteen more, which counts where many are kept.
  const copy = [...items];
  for (let at = 0; at < copy.length; at++) {
    const given = copy[at];
    const item = copyOfPlain(given, depth + 1, room);
    if (item === notPlain || (room.left -= costOfItem) < 0) return notPlain;
    if (!Object.is(item, given)) copy[at] = item;
  }
  return Object.freeze(copy);
}

/**
 * Plain JSON of one's own, frozen at every depth. What is frozen already has to be so at every depth: it is not looked
 * into again.
 */
export function frozenJson<T>(value: T): T {
  if (!isUnfrozen(value)) return value;
  // No recursion: a tool's result may be nested as deep as JSON can be read.
  let open: object[] | undefined;
  for (let next: object | undefined = value; next !== undefined; next = open?.pop()) {
    const fields = next as Readonly<Record<string, unknown>>;
    // V8 reads the fields of what is not frozen yet, in a loop over its keys, twice as fast as in any other way.
    if (Array.isArray(next)) {
      for (const item of next as readonly unknown[]) if (isUnfrozen(item)) (open ??= []).push(item);
    } else {
      for (const key in fields) {
        const item = fields[key];
        if (isUnfrozen(item)) (open ??= []).push(item);
      }
    }
    Object.freeze(next);
  }
  return value;
}

function isUnfrozen(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Object.isFrozen(value);
}
