// 1. No key that could reach a prototype, and no depth beyond the limit, is ever read: such a text holds nothing.
// 2. Reads the text once, from its beginning.
import { parseJson } from "@proviso/core/provider";
import { isForbiddenKey } from "@proviso/core/internal";

/** Characters of a string up to the text's end. */
type Cut = (unfinished: string) => string;

/**
 * The value that begins at `start`, as far as the text goes: half a string, and no half number or word. undefined where
 * there is nothing yet, where it is no JSON, and for what `parseJson` would refuse. What follows the value does not count.
 */
export function parsePartialJson(
  text: string,
  start: number,
  { maxDepth, cut }: { readonly maxDepth: number; readonly cut: Cut },
): { readonly value: unknown } | undefined {
  try {
    const value = readValue({ text, at: start, maxDepth, cut, ended: false }, 0);
    return value === nothing ? undefined : { value };
  } catch (error) {
    if (error === unreadable) return undefined;
    throw error;
  }
}

interface Reader {
  readonly text: string;
  readonly maxDepth: number;
  readonly cut: Cut;
  at: number;
  /** The text is over, inside the value. */
  ended: boolean;
}

const nothing = Symbol("nothing");
const unreadable = Symbol("unreadable");

const space = /[ \t\n\r]*/y;
const word = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const words = { true: true, false: false, null: null } as const;
/** What may yet become a number or a word. */
const unfinishedWord = /[-+.\w]*$/y;

/** The next character that is no space; undefined at the end. */
function peek(reader: Reader): string | undefined {
  space.lastIndex = reader.at;
  space.test(reader.text);
  reader.at = space.lastIndex;
  if (reader.at >= reader.text.length) reader.ended = true;
  return reader.text[reader.at];
}

function readValue(reader: Reader, depth: number): unknown {
  const next = peek(reader);
  if (next === undefined) return nothing;
  if (next === '"') return readString(reader);
  if (next !== "{" && next !== "[") return readWord(reader);
  if (depth >= reader.maxDepth) throw unreadable;
  reader.at += 1;
  return next === "{" ? readObject(reader, depth + 1) : readArray(reader, depth + 1);
}

function readObject(reader: Reader, depth: number): unknown {
  const object: Record<string, unknown> = {};
  if (takes(reader, "}")) return object;
  while (!reader.ended) {
    if (peek(reader) === undefined) break;
    const key = readString(reader);
    if (reader.ended) break;
    if (isForbiddenKey(key)) throw unreadable;
    if (peek(reader) === undefined) break;
    if (!takes(reader, ":")) throw unreadable;
    const value = readValue(reader, depth);
    if (value !== nothing) object[key] = value;
    if (ends(reader, "}")) break;
  }
  return object;
}

function readArray(reader: Reader, depth: number): unknown {
  const list: unknown[] = [];
  if (takes(reader, "]")) return list;
  while (!reader.ended) {
    const value = readValue(reader, depth);
    if (value !== nothing) list.push(value);
    if (ends(reader, "]")) break;
  }
  return list;
}

/** Reads what follows a value. Returns true where its container or the text ends; otherwise a comma is taken. */
function ends(reader: Reader, closing: string): boolean {
  if (reader.ended || peek(reader) === undefined || takes(reader, closing)) return true;
  if (takes(reader, ",")) return false;
  throw unreadable;
}

function takes(reader: Reader, char: string): boolean {
  if (peek(reader) !== char) return false;
  reader.at += 1;
  return true;
}

function readString(reader: Reader): string {
  const { text } = reader;
  if (text[reader.at] !== '"') throw unreadable;
  const from = reader.at;
  let escape = -1;
  let at = from + 1;
  for (; at < text.length && text[at] !== '"'; at++) {
    if (text[at] === "\\") escape = at++;
  }
  if (at < text.length) {
    reader.at = at + 1;
    return decoded(text.slice(from, at + 1));
  }
  reader.at = text.length;
  reader.ended = true;
  // An escape that the end cuts is left out: one letter, or u and four digits.
  const whole = escape === -1 || text.length - escape >= (text[escape + 1] === "u" ? 6 : 2);
  return reader.cut(decoded(`${text.slice(from, whole ? text.length : escape)}"`));
}

function decoded(json: string): string {
  const read = parseJson(json, { maxLength: json.length });
  if (!read.ok) throw unreadable;
  return read.value as string;
}

/** A number at the text's end may go on. */
function readWord(reader: Reader): unknown {
  word.lastIndex = reader.at;
  const found = word.exec(reader.text)?.[0];
  unfinishedWord.lastIndex = reader.at;
  const isLast = unfinishedWord.test(reader.text);
  if (found !== undefined && !(isLast && /\d/.test(found))) {
    reader.at += found.length;
    return Object.hasOwn(words, found) ? words[found as keyof typeof words] : Number(found);
  }
  if (!isLast) throw unreadable;
  reader.ended = true;
  return nothing;
}
