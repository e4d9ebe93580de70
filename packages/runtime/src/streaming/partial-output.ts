// 1. Reading costs no more than some times the whole text, however many deltas bring it, and nothing beyond 256 KiB.
import { isRecord, strictSchema, type StrictSchema } from "@proviso/core/provider";
import { wrappedSchema, wrapperKey, type OutputSpec } from "@proviso/core/internal";
import { answerLimits } from "../output/extract.ts";
import { jsonBlock } from "../output/fence.ts";
import { withoutLastHalf } from "../well-formed.ts";
import { parsePartialJson } from "./partial-json.ts";

/** A structured output as far as it can be read. */
export interface PartialReader {
  /** What the text holds so far, when it is time to look and there is something new. */
  read(text: string): { readonly value: unknown } | undefined;
  /** Returns what the whole text holds, where that is new. */
  finish(text: string): { readonly value: unknown } | undefined;
}

/** A short text is read with each delta, a longer one whenever it has grown by this part, a long one by more. */
const growthOf = (length: number): number => (length < 64 * 1024 ? 1 / 16 : 1 / 4);
/** A longer text is shown no more until it is the answer: each reading would hold the process up. */
const longestShown = 256 * 1024;

/** `cut` takes from a string that is not complete what may become a secret, or another character. */
export function partialOutput(spec: OutputSpec<unknown>, cut: (unfinished: string) => string): PartialReader {
  let nextLength = 1;
  let last: string | undefined;
  const strict = strictSchema(wrappedSchema(spec));
  const finish = (text: string): { readonly value: unknown } | undefined => {
    nextLength = Math.ceil(text.length * (1 + growthOf(text.length)));
    if (text.length > longestShown) return undefined;
    const found = parsePartial(withoutLastHalf(text).toWellFormed(), cut);
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
function parsePartial(text: string, cut: (unfinished: string) => string): { readonly value: unknown } | undefined {
  const { maxDepth, maxLength } = answerLimits;
  if (text.length > maxLength) return undefined;
  const block = jsonBlock(text)?.text;
  if (block !== undefined) return parsePartialJson(block, 0, { maxDepth, cut });
  const from = text.search(/[{[]/);
  // Where it is no JSON there is nothing to show: the whole answer decides.
  return from === -1 ? undefined : parsePartialJson(text, from, { maxDepth, cut });
}

/** The answer's own form: a strict provider writes null where an optional key is left out. */
function unwrapped({ container }: OutputSpec<unknown>, value: unknown, strict: StrictSchema | undefined): unknown {
  const restore = (wrapped: unknown): unknown => (strict === undefined ? wrapped : strict.restore(wrapped));
  if (container === "object") return isRecord(value) ? restore(value) : undefined;
  const key = wrapperKey[container];
  const inner = isRecord(value) ? value[key] : value;
  return inner === undefined ? undefined : (restore({ [key]: inner }) as Record<string, unknown>)[key];
}
