import { isRecord, type ModelFailure, type ModelResponse } from "@proviso/core";
import { isNetworkError, isTimeoutError } from "../adapter/network-error.ts";
import { messageOf } from "../failures.ts";

/** What a provider throws, as the data it should have been. */
export async function asData(ask: () => Promise<unknown>): Promise<ModelResponse | ModelFailure> {
  try {
    const answer = await ask();
    if (isModelAnswer(answer)) return readable(answer);
    return {
      failure: "provider",
      reason: "invalid_response",
      message: "The provider returned no message.",
      payload: answer,
    };
  } catch (cause) {
    if (isTimeoutError(cause)) return { failure: "throttle", kind: "timeout", message: messageOf(cause), cause };
    if (isNetworkError(cause) || isFailedFetch(cause)) {
      return { failure: "throttle", kind: "unknown", message: messageOf(cause), cause };
    }
    return { failure: "provider", reason: "unknown", message: messageOf(cause), cause };
  }
}

/** A provider may be anybody's: what it returns is looked at before it is trusted. */
function isModelAnswer(answer: unknown): answer is ModelResponse | ModelFailure {
  if (!isRecord(answer)) return false;
  const { failure, message } = answer;
  if (failure === "process") return typeof message === "string" && typeof answer["stderr"] === "string";
  if (failure !== undefined) return (failure === "throttle" || failure === "provider") && typeof message === "string";
  if (!isRecord(message) || typeof message["text"] !== "string" || !Array.isArray(message["toolCalls"])) return false;
  return message["toolCalls"].every((call) => isRecord(call) && typeof call["name"] === "string");
}

/** A wait that is no number of milliseconds is as if nothing was asked for. */
function readable(answer: ModelResponse | ModelFailure): ModelResponse | ModelFailure {
  if (answer.failure !== "throttle" || answer.retryAfterMs === undefined) return answer;
  const asked: unknown = answer.retryAfterMs;
  return typeof asked === "number" && Number.isFinite(asked) && asked >= 0
    ? answer
    : { ...answer, retryAfterMs: undefined };
}

/** Where what `fetch` met is not told as its cause. */
function isFailedFetch(error: unknown): boolean {
  return error instanceof TypeError && ["fetch failed", "terminated"].includes(error.message);
}
