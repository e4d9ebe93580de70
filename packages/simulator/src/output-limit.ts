import { isObject, type AnswerStep, type SimulatedCall, type SimulatedRequest } from "./types.ts";

/** The ratio that `countTokens` uses. */
const charactersPerToken = 4;

/** Tokens of the answer at most, by whatever name the request has for it; undefined: no limit. */
export function outputLimit({ body }: Pick<SimulatedRequest, "body">): number | undefined {
  const config = body["generationConfig"];
  const most =
    body["max_output_tokens"] ??
    body["max_completion_tokens"] ??
    body["max_tokens"] ??
    (isObject(config) ? config["maxOutputTokens"] : undefined);
  return typeof most === "number" ? most : undefined;
}

export function answerText(step: AnswerStep): string {
  return step.text ?? (step.output === undefined ? "" : JSON.stringify(step.output));
}

/**
 * What fits into the request's limit: reasoning first, then the text, then the calls, the last of which may end in the
 * middle of its arguments. What a step reports as its usage is left as it is.
 */
export function withinLimit(
  request: SimulatedRequest,
  step: AnswerStep,
  calls: readonly SimulatedCall[],
): { readonly step: AnswerStep; readonly calls: readonly SimulatedCall[] } {
  const text = answerText(step);
  const limit = outputLimit(request);
  // Reasoning is counted by itself, and rounded up by itself.
  const thought = Math.ceil((step.reasoning ?? "").length / charactersPerToken);
  const spoken = calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, text.length);
  const answered = Math.max(1, Math.ceil(spoken / charactersPerToken));
  if (limit === undefined || step.refusal !== undefined || thought + answered <= limit) return { step, calls };

  const forAnswer = limit - thought;
  const reasoning = forAnswer > 0 ? step.reasoning : step.reasoning?.slice(0, (limit - 1) * charactersPerToken);
  let left = Math.max(0, forAnswer) * charactersPerToken;
  const take = (part: string): string => {
    const taken = part.slice(0, left);
    left -= taken.length;
    return taken;
  };
  const kept = take(text);
  const begun: SimulatedCall[] = [];
  for (const call of calls) {
    if (left < call.name.length) break;
    left -= call.name.length;
    begun.push({ ...call, arguments: take(call.arguments) });
  }
  const { output: _, ...rest } = step;
  return { step: { ...rest, text: kept, reasoning, finishReason: "length" }, calls: begun };
}
