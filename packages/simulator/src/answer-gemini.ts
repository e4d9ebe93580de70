import { answerCalls } from "./answer.ts";
import { answerText, withinLimit } from "./output-limit.ts";
import type { Making } from "./play.ts";
import { geminiBlocks } from "./prompt-blocks.ts";
import { sealOf } from "./signature.ts";
import { stoppedAt } from "./stop-sequence.ts";
import { isObject, type AnswerStep, type JsonObject, type SimulatedCall, type SimulatedRequest } from "./types.ts";

/** An answer of Gemini's. Source: Gemini API reference, "GenerateContentResponse". */
export function geminiAnswer(request: SimulatedRequest, given: AnswerStep, { ids, cache, now }: Making): JsonObject {
  const { body, model } = request;
  const config = isObject(body["generationConfig"]) ? body["generationConfig"] : {};
  const { step: stopped } = stoppedAt(forced(request, given), config["stopSequences"]);
  const { step, calls } = withinLimit(request, stopped, answerCalls(stopped, request, ids, "call"));
  const prompt = cache.implicit(model, geminiBlocks(body), now);
  const input = prompt.plain + prompt.read;
  const thoughts = Math.ceil((step.reasoning ?? "").length / 4);
  const characters = calls.reduce(
    (sum, call) => sum + call.name.length + call.arguments.length,
    answerText(step).length,
  );
  const output = Math.max(1, Math.ceil(characters / 4));
  return {
    ...ending(step, calls),
    ...(step.usage === null
      ? {}
      : {
          usageMetadata: {
            promptTokenCount: input,
            candidatesTokenCount: output,
            totalTokenCount: input + output + thoughts,
            ...(prompt.read === 0 ? {} : { cachedContentTokenCount: prompt.read }),
            promptTokensDetails: [{ modality: "TEXT", tokenCount: input }],
            ...(thoughts === 0 ? {} : { thoughtsTokenCount: thoughts }),
            ...step.usage,
          },
        }),
    modelVersion: model,
    responseId: ids.next("resp"),
  };
}

/**
 * A model that has to call a function puts a structured answer into one: into the only one that is allowed, or into
 * the last one called "json", "json_1" and so on, as clients name it that ask for a shape in this way, behind their own.
 */
function forced({ toolChoice, tools, output }: SimulatedRequest, step: AnswerStep): AnswerStep {
  if (step.output === undefined || output !== undefined) return step;
  if (!isObject(toolChoice) || toolChoice["mode"] !== "ANY") return step;
  const allowed = toolChoice["allowedFunctionNames"];
  const names = Array.isArray(allowed) ? (allowed as readonly string[]) : tools.map(({ name }) => name);
  const name = names.length === 1 ? names[0] : names.findLast((one) => /^json(_\d+)?$/.test(one));
  if (name === undefined) return step;
  const { output: given, ...rest } = step;
  return { ...rest, toolCalls: [...(step.toolCalls ?? []), { name, arguments: given as object }] };
}

/** A prompt that a filter stops has no candidate at all; an answer that one stops has a reason. */
function ending(step: AnswerStep, given: readonly SimulatedCall[]): JsonObject {
  const text = answerText(step);
  const isFiltered = step.finishReason === "content_filter";
  if (isFiltered && text === "" && given.length === 0) return { promptFeedback: { blockReason: "PROHIBITED_CONTENT" } };
  const calls = given.filter((call) => isObject(parsed(call.arguments)));
  const malformed = given.find((call) => !calls.includes(call));
  if (malformed !== undefined && step.finishReason === undefined) {
    const finishMessage = `Malformed function call: ${malformed.name}(${malformed.arguments.slice(0, 100)})`;
    return { candidates: [{ content: {}, finishReason: "MALFORMED_FUNCTION_CALL", finishMessage, index: 0 }] };
  }
  if (step.refusal !== undefined) {
    const finishMessage = step.refusal;
    return { candidates: [{ content: {}, finishReason: "PROHIBITED_CONTENT", finishMessage, index: 0 }] };
  }
  const reasons = { stop: "STOP", length: "MAX_TOKENS", content_filter: "SAFETY" } as const;
  const content = { parts: partsOf(step, text, calls), role: "model" };
  return { candidates: [{ content, finishReason: reasons[step.finishReason ?? "stop"], index: 0 }] };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The thoughts are sealed at the first call, or at the end of the text. */
function partsOf(step: AnswerStep, text: string, calls: readonly SimulatedCall[]): readonly JsonObject[] {
  const { reasoning } = step;
  const seal = reasoning === undefined ? {} : { thoughtSignature: sealOf(reasoning) };
  return [
    ...(reasoning === undefined ? [] : [{ text: reasoning, thought: true }]),
    ...(text === "" ? [] : [{ text, ...(calls.length === 0 ? seal : {}) }]),
    ...calls.map(({ id, name, arguments: given }, at) => ({
      functionCall: { id, name, args: parsed(given) },
      ...(at === 0 ? seal : {}),
    })),
  ];
}
