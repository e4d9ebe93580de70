// 1. Reading costs no more than a few times the whole text, however many deltas bring it.
import { isRecord, wrapperKey, type OutputSpec } from "@proviso/core";
import { Allow, parse } from "partial-json";
import { jsonBlock } from "../output/fence.ts";

/** A structured output as far as it can be read. */
export interface PartialReader {
  /** What the text holds so far, when it is time to look and there is something new. */
  read(text: string): { readonly value: unknown } | undefined;
  /** The same, of all of it. */
  finish(text: string): { readonly value: unknown } | undefined;
}

/** A short text is read with each delta, a longer one whenever it has grown by this part. */
const growth = 1 / 16;
/** Half a string is shown; half a number, or half a word such as true, is not. */
const allowed = Allow.STR | Allow.OBJ | Allow.ARR;

export function partialOutput(spec: OutputSpec<unknown>): PartialReader {
  let nextLength = 1;
  let last: string | undefined;
  const finish = (text: string): { readonly value: unknown } | undefined => {
    nextLength = Math.ceil(text.length * (1 + growth));
    const found = parsePartial(text);
    const value = found === undefined ? undefined : unwrapped(spec, found.value);
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
  try {
    return { value: parse(block ?? text.slice(from), allowed) };
  } catch {
    // Nothing to show yet, or no JSON at all: the whole answer decides.
    return undefined;
  }
}

function unwrapped({ container }: OutputSpec<unknown>, value: unknown): unknown {
  if (container === "object") return isRecord(value) ? value : undefined;
  return isRecord(value) ? value[wrapperKey[container]] : value;
}
