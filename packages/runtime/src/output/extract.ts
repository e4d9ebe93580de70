import { parseJson, type JsonResult } from "@proviso/core";
import { closingBracket } from "./brackets.ts";

/** Answers are larger than arguments. */
export const answerLimits = { maxDepth: 256, maxLength: 16 * 1024 * 1024 } as const;

/** The first ```json block (invalid is an error), else the whole text, else the first JSON value in the text. */
export function extractJson(text: string): JsonResult {
  const fenced = /```json[^\n]*\n([\s\S]*?)```/i.exec(text)?.[1];
  if (fenced !== undefined) return parseJson(fenced, answerLimits);
  const whole = parseJson(text, answerLimits);
  if (whole.ok) return whole;
  const found = firstValue(text);
  return found === undefined ? { ok: false, error: "there is no JSON in the answer" } : parseJson(found, answerLimits);
}

/** The first object or array that closes; brackets inside strings do not count. */
function firstValue(text: string): string | undefined {
  for (let start = text.search(/[{[]/); start !== -1; start = nextOpening(text, start + 1)) {
    const end = closingBracket(text, start);
    if (end === undefined) return undefined;
    const candidate = text.slice(start, end + 1);
    if (parseJson(candidate, answerLimits).ok) return candidate;
  }
  return undefined;
}

function nextOpening(text: string, from: number): number {
  const offset = text.slice(from).search(/[{[]/);
  return offset === -1 ? -1 : from + offset;
}
