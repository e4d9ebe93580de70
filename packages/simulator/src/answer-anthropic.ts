import { answerCalls } from "./answer.ts";
import { answerText, withinLimit } from "./output-limit.ts";
import type { Making } from "./play.ts";
import { anthropicBlocks } from "./prompt-blocks.ts";
import { sealOf } from "./signature.ts";
import { stoppedAt } from "./stop-sequence.ts";
import { isObject, type AnswerStep, type JsonObject, type SimulatedCall, type SimulatedRequest } from "./types.ts";

/** A message of Anthropic's. Source: Anthropic API reference, "Create a Message". */
export function anthropicAnswer(request: SimulatedRequest, given: AnswerStep, making: Making): JsonObject {
  const { ids, cache, now, asStream } = making;
  const { body } = request;
  const { step: stopped, stop } = stoppedAt(forced(request, given), body["stop_sequences"]);
  const { step, calls } = withinLimit(request, stopped, answerCalls(stopped, request, ids, "toolu"));
  const prompt = cache.marked(request.model, anthropicBlocks(body), now);
  const thinking = Math.ceil((step.reasoning ?? "").length / 4);
  const characters = calls.reduce(
    (sum, call) => sum + call.name.length + call.arguments.length,
    answerText(step).length,
  );
  return {
    id: ids.next("msg"),
    type: "message",
    role: "assistant",
    model: request.model,
    content: contentOf(step, calls, asStream),
    stop_reason: reasonOf(step, calls, stop),
    stop_sequence: stop ?? null,
    ...(step.usage === null
      ? {}
      : {
          usage: {
            input_tokens: prompt.plain,
            cache_creation_input_tokens: prompt.written5m + prompt.written1h,
            cache_read_input_tokens: prompt.read,
            cache_creation: {
              ephemeral_5m_input_tokens: prompt.written5m,
              ephemeral_1h_input_tokens: prompt.written1h,
            },
            output_tokens: Math.max(1, Math.ceil(characters / 4)) + thinking,
            output_tokens_details: { thinking_tokens: thinking },
            service_tier: "standard",
            ...step.usage,
          },
        }),
  };
}

/** A structured answer goes into the tool that is forced, where the shape was asked for in this way. */
function forced({ toolChoice, output }: SimulatedRequest, step: AnswerStep): AnswerStep {
  const name = isObject(toolChoice) && toolChoice["type"] === "tool" ? toolChoice["name"] : undefined;
  if (step.output === undefined || output !== undefined || typeof name !== "string") return step;
  const { output: given, ...rest } = step;
  return { ...rest, toolCalls: [...(step.toolCalls ?? []), { name, arguments: given as object }] };
}

function contentOf(step: AnswerStep, calls: readonly SimulatedCall[], asStream: boolean): readonly JsonObject[] {
  const text = step.refusal ?? answerText(step);
  return [
    ...(step.reasoning === undefined
      ? []
      : [{ type: "thinking", thinking: step.reasoning, signature: sealOf(step.reasoning) }]),
    ...(text === "" ? [] : [{ type: "text", text }]),
    ...calls.map(({ id, name, arguments: given }) => ({ type: "tool_use", id, name, input: inputOf(given, asStream) })),
  ];
}

/**
 * Returns a call's input. A stream carries a text that is no object in its deltas, byte for byte; a body has only JSON:
 * the service sends {} there for arguments that it cannot read.
 */
function inputOf(text: string, asStream: boolean): unknown {
  const value = parsed(text);
  if (!asStream) return value ?? {};
  return isObject(value) && JSON.stringify(value) === text ? value : text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function reasonOf(step: AnswerStep, calls: readonly SimulatedCall[], stop: string | undefined): string {
  if (step.finishReason === "length") return "max_tokens";
  if (step.finishReason === "content_filter" || step.refusal !== undefined) return "refusal";
  if (stop !== undefined) return "stop_sequence";
  return calls.length > 0 ? "tool_use" : "end_turn";
}
