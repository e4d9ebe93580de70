import { answerText } from "./output-limit.ts";
import type { AnswerStep } from "./types.ts";

/** The answer up to the first of the sequences that it was to stop at, and which one that was. */
export function stoppedAt(
  step: AnswerStep,
  sequences: unknown,
): { readonly step: AnswerStep; readonly stop: string | undefined } {
  const text = answerText(step);
  const wanted = Array.isArray(sequences) ? (sequences as unknown[]).filter((one) => typeof one === "string") : [];
  const [first] = wanted
    .map((stop) => ({ stop, at: text.indexOf(stop) }))
    .filter(({ stop, at }) => stop !== "" && at >= 0)
    .toSorted((one, other) => one.at - other.at);
  if (first === undefined) return { step, stop: undefined };
  const { output: _, toolCalls: __, ...rest } = step;
  return { step: { ...rest, text: text.slice(0, first.at) }, stop: first.stop };
}
