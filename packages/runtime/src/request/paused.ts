import type { ModelResponse } from "@proviso/core";
import { readSources } from "./answer-parts.ts";

/** The answer with what came before its provider paused it: one text, and what all of it rests on. */
export function joined(paused: ModelResponse | undefined, answer: ModelResponse): ModelResponse {
  if (paused === undefined) return answer;
  const { length } = paused.message.text;
  const text = paused.message.text + answer.message.text;
  const later = (answer.sources ?? []).map(({ at, ...source }) =>
    at === undefined ? source : { ...source, at: { start: at.start + length, end: at.end + length } },
  );
  const sources = readSources([...(paused.sources ?? []), ...later], text);
  return { ...answer, message: { ...answer.message, text }, sources };
}
