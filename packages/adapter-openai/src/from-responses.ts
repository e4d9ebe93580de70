import type { ModelFailure, ModelRequest, ModelResponse, ToolCall } from "@proviso/core";
import { isRecord, type FinishReason } from "@proviso/core/provider";
import {
  listAt,
  objectAt,
  parsedOutput,
  textAt,
  type Json,
  errorObjectFailure,
  invalidResponse,
} from "@proviso/adapter-kit";
import { responsesItems } from "./account.ts";
import {
  beside,
  isProviderCall,
  providerCallsIn,
  textAndSources,
  thoughtsIn,
  withoutPicture,
  argumentsAt,
  servedBy,
  usageFrom,
} from "./answer-parts.ts";

/** What is known of an answer beside its body. */
export interface AskedResponses {
  readonly costUsd?: number | undefined;
  /** The host of the service that answered; undefined: it is not known. */
  readonly service?: string | undefined;
}

/** An answer of `POST /responses`. Items, parts and fields that are not known are passed over. */
export function fromResponses(
  body: unknown,
  { output, providerTools }: Partial<Pick<ModelRequest, "output" | "providerTools">>,
  { costUsd, service }: AskedResponses = {},
): ModelResponse | ModelFailure {
  if (!isRecord(body)) return invalidResponse("The provider's answer is not a JSON object.", body);
  const status = textAt(body, "status");
  const usage = usageFrom(body["usage"], { input: "input_tokens", output: "output_tokens" }, costUsd);
  if (status === "failed") return { ...failedResponse(body), usage };
  if (status === "" && isRecord(body["error"])) return { ...errorObjectFailure(body), usage };
  if (status !== "completed" && status !== "incomplete") {
    const found = status === "" ? "no status" : `the status "${status}"`;
    return { ...invalidResponse(`The provider's answer is not finished: it has ${found}.`, body), usage };
  }
  if (!Array.isArray(body["output"]))
    return { ...invalidResponse("The provider's answer has no output.", body), usage };

  const items = listAt(body, "output");
  const parts = items.filter(({ type }) => type === "message").flatMap((item) => listAt(item, "content"));
  const { text, sources, pictures } = textAndSources(items);
  const reasoning = thoughtsIn(items);
  const refusals = parts.filter(({ type }) => type === "refusal").map((part) => textAt(part, "refusal"));
  const toolCalls = items.filter(({ type }) => type === "function_call").map(callOf);
  return {
    message: {
      role: "assistant",
      text,
      toolCalls,
      ...(reasoning === "" ? {} : { reasoning }),
      ...replayable(items, body["store"] !== false, service),
    },
    finishReason: finishReason(body, toolCalls.length > 0),
    usage,
    model: textAt(body, "model") || undefined,
    ...beside(sources, providerCallsIn(items, providerTools)),
    ...(pictures.length === 0 ? {} : { generated: pictures }),
    ...servedBy(
      body,
      parts.flatMap((part) => listAt(part, "logprobs")),
    ),
    ...(toolCalls.length > 0 ? {} : parsedOutput(output, text)),
    refusal: refusals.length === 0 ? undefined : refusals.join("\n"),
    payload: body,
  };
}

function callOf(item: Json): ToolCall {
  return { id: textAt(item, "call_id"), name: textAt(item, "name"), arguments: argumentsAt(item, "arguments") };
}

/**
 * Reasoning has to come back with the very item that follows it, of whatever type, and a call that the service ran is in
 * its item alone; without either the message says it all. Where nothing is stored, a picture has no id that is known later:
 * the message says it all then, with the picture's label. No other service knows them.
 */
function replayable(
  items: readonly Json[],
  isStored: boolean,
  service: string | undefined,
): { readonly providerItems?: unknown } {
  if (!items.some((item) => item["type"] === "reasoning" || isProviderCall(item))) return {};
  if (!isStored && items.some(({ type }) => type === "image_generation_call")) return {};
  return {
    providerItems: {
      api: responsesItems,
      items: items.map(withoutPicture),
      ...(service === undefined ? {} : { service }),
    },
  };
}

function finishReason(body: Json, hasCalls: boolean): FinishReason {
  if (body["status"] === "completed") return hasCalls ? "tool-calls" : "stop";
  switch (textAt(objectAt(body, "incomplete_details"), "reason")) {
    case "content_filter":
      return "content-filter";
    default:
      // max_output_tokens; whatever else cut it short, the answer is not whole.
      return "length";
  }
}

function failedResponse(body: Json): ModelFailure {
  const error = objectAt(body, "error");
  const message = textAt(error, "message") || "The provider failed to answer.";
  return { ...errorObjectFailure({ ...error, message }), payload: body };
}
