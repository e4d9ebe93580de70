// 1. Reading costs no more than some times the whole text, however many deltas bring it, and nothing beyond 256 KiB.
import { isRecord, strictSchema, wrappedSchema, wrapperKey, type OutputSpec, type StrictSchema } from "@proviso/core";
import { Allow, parse } from "partial-json";
import { answerLimits } from "../output/extract.ts";
import { jsonBlock } from "../output/fence.ts";
import { isJsonSoFar } from "../output/json-prefix.ts";

/** A structured output as far as it can be read. */
export interface PartialReader {
  /** What the text holds so far, when it is time to look and there is something new. */
  read(text: string): { readonly value: unknown } | undefined;
  /** The same, of all of it. */
  finish(text: string): { readonly value: unknown } | undefined;
}

/** A short text is read with each delta, a longer one whenever it has grown by this part, a long one by more. */
const growthOf = (length: number): number => (length < 64 * 1024 ? 1 / 16 : 1 / 4);
/** A longer text is shown no more until it is the answer: each reading would hold the process up. */
const longestShown = 256 * 1024;
/** Half a string is shown; half a number, or half a word such as true, is not. */
const allowed = Allow.STR | Allow.OBJ | Allow.ARR;

export function partialOutput(spec: OutputSpec<unknown>): PartialReader {
  let nextLength = 1;
  let last: string | undefined;
  const strict = strictSchema(wrappedSchema(spec));
  const finish = (text: string): { readonly value: unknown } | undefined => {
    nextLength = Math.ceil(text.length * (1 + growthOf(text.length)));
    if (text.length > longestShown) return undefined;
    const found = parsePartial(text);
    const value = found === undefined ? undefined : unwrapped(spec, found.value, strict);
    if (value === undefined) return undefined;
    const json = JSON.stringify(value);
    if (json === last) return undefined;
    last = json;
    return { value };
  };
  return { read: (text) => (text.length < nextLength ? undefined : finish(text)), finish };
}

/** The first ```json block, else the first object or array. */
function parsePartial(text: string): { readonly value: unknown } | undefined {
  const block = jsonBlock(text)?.text;
  const from = text.search(/[{[]/);
  if (block === undefined && from === -1) return undefined;
  const json = (block ?? text.slice(from)).trimStart();
  // The parser looks through the whole text again for each wrong value that it meets in a list.
  if (/^[{[]/.test(json) && !isJsonSoFar(json, 0, answerLimits.maxDepth)) return undefined;
  try {
    return { value: parse(json, allowed) };
  } catch {
    // Nothing to show yet, or no JSON at all: the whole answer decides.
    return undefined;
  }
}

/** The answer's own form: a strict provider writes null where an optional key is left out. */
function unwrapped({ container }: OutputSpec<unknown>, value: unknown, strict: StrictSchema | undefined): unknown {
  const restore = (wrapped: unknown): unknown => (strict === undefined ? wrapped : strict.restore(wrapped));
  if (container === "object") return isRecord(value) ? restore(value) : undefined;
  const key = wrapperKey[container];
  const inner = isRecord(value) ? value[key] : value;
  return inner === undefined ? undefined : (restore({ [key]: inner }) as Record<string, unknown>)[key];
}
