// What the spans and the metrics of an evaluation have in common, made once for each evaluation.
import type { Attributes } from "@opentelemetry/api";
import type { Step } from "@proviso/core";
import { attribute, operation, providerName } from "./names.ts";

export type EvaluationStep = Extract<Step, { kind: "evaluation" }>;

/** What all chat spans start with. `output` is undefined where it is not known. */
export function attributesOfChats(
  { model, provider, promptName, streamed }: EvaluationStep,
  output: string | undefined,
  ids: Attributes | undefined,
): Attributes {
  return {
    [attribute.operation]: operation.chat,
    [attribute.provider]: providerName(provider),
    [attribute.requestModel]: model,
    [attribute.requestStream]: streamed,
    [attribute.prompt]: promptName,
    [attribute.outputType]: output,
    ...ids,
  };
}

/** What all spans of calls start with, with room for what each has of its own. */
export function attributesOfCalls(ids: Attributes | undefined): Attributes {
  return {
    [attribute.operation]: operation.tool,
    [attribute.tool]: "",
    [attribute.toolCall]: "",
    [attribute.toolType]: "function",
    ...ids,
  };
}

/** V8 copies a whole object many times faster than it makes one with computed keys and a spread behind them. */
export function ofCall(ofCalls: Attributes, name: string, callId: string): Attributes {
  const own = { ...ofCalls };
  own[attribute.tool] = name;
  own[attribute.toolCall] = callId;
  return own;
}

/** The attributes, which are the caller's own, with those of the program. */
export function withMore(attributes: Attributes, more: Attributes | undefined): Attributes {
  return more === undefined ? attributes : Object.assign(attributes, more);
}

/** The dimensions of metrics. */
export function dimensionsOf(
  { promptName, provider, model }: EvaluationStep,
  of: string,
  errorType?: string,
): Attributes {
  return {
    [attribute.operation]: of,
    [attribute.agent]: promptName,
    [attribute.provider]: providerName(provider),
    [attribute.requestModel]: model,
    ...(errorType === undefined ? {} : { [attribute.errorType]: errorType }),
  };
}
