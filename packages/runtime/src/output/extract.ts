import { parseJson, type JsonResult } from "@proviso/core/provider";
import { jsonBlock } from "./fence.ts";
import { containersIn } from "./json-prefix.ts";

/** How deep the JSON of an answer may nest, and its characters. Answers may be larger than a tool's arguments. */
export const answerLimits = { maxDepth: 256, maxLength: 16 * 1024 * 1024 } as const;

/** The first ```json block (invalid is an error), else the whole text, else the first JSON value in the text. */
export function extractJson(text: string): JsonResult {
  if (text.length > answerLimits.maxLength) return parseJson(text, answerLimits);
  const block = jsonBlock(text);
  if (block?.closed === true) return parseJson(block.text, answerLimits);
  const whole = parseJson(text, answerLimits);
  if (whole.ok) return whole;
  const found = firstValue(text);
  return found === undefined ? { ok: false, error: "there is no JSON in the answer" } : parseJson(found, answerLimits);
}

/** The first object or array, from its first bracket to its last, or to the text's end where it nests too deep. */
function firstValue(text: string): string | undefined {
  const opening = /[{[]/g;
  const containers = containersIn(text, answerLimits.maxDepth);
  for (let found = opening.exec(text); found !== null; found = opening.exec(text)) {
    const end = containers.endOf(found.index);
    if (end === "deep") return text.slice(found.index);
    if (end !== undefined) return text.slice(found.index, end);
  }
  return undefined;
}
