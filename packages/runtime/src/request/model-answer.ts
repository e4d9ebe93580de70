import { isRecord, type ModelFailure, type ModelResponse } from "@proviso/core";
import { isNetworkError, isTimeoutError, isUnreachable, networkFailure } from "../adapter/network-error.ts";
import { isFailure, messageOf } from "../failures.ts";
import type { Work } from "./attempt.ts";

/** Begins the work; what it throws is returned as the data that it should have been. Never rejects. */
export function asData(work: Work, ...given: Parameters<Work["begin"]>): Promise<ModelResponse | ModelFailure> {
  try {
    return Promise.resolve(work.begin(...given)).then(checked, thrown);
  } catch (cause) {
    return Promise.resolve(thrown(cause));
  }
}

function checked(answer: unknown): ModelResponse | ModelFailure {
  try {
    if (isModelAnswer(answer)) return readable(unmarked(answer));
  } catch (cause) {
    return thrown(cause);
  }
  const message = "The provider returned no message.";
  return { failure: "provider", reason: "invalid_response", message, payload: answer };
}

function thrown(cause: unknown): ModelFailure {
  const message = messageOf(cause);
  if (isUnreachable(cause)) return { ...networkFailure(cause), cause };
  if (isTimeoutError(cause)) return { failure: "throttle", kind: "timeout", message, cause };
  if (isNetworkError(cause) || isFailedFetch(cause)) return { failure: "throttle", kind: "unknown", message, cause };
  return { failure: "provider", reason: "unknown", message, cause };
}

/** Anyone may have written the provider: what it returns is checked before it is trusted. */
function isModelAnswer(answer: unknown): answer is ModelResponse | ModelFailure {
  if (!isRecord(answer)) return false;
  const { failure, message } = answer;
  if (failure === "process") return typeof message === "string" && typeof answer["stderr"] === "string";
  if (failure !== undefined) return (failure === "throttle" || failure === "provider") && typeof message === "string";
  if (!isRecord(message) || typeof message["text"] !== "string" || !Array.isArray(message["toolCalls"])) return false;
  return message["toolCalls"].every((call) => isRecord(call) && typeof call["name"] === "string");
}

/** A `stop` is the mark of a Failure, which only the runtime makes. */
function unmarked<T extends object>(answer: T): T {
  return isFailure(answer) ? { ...answer, stop: undefined } : answer;
}

/** A wait that is no number of milliseconds is as if nothing was asked for. */
function readable(answer: ModelResponse | ModelFailure): ModelResponse | ModelFailure {
  if (answer.failure !== "throttle" || answer.retryAfterMs === undefined) return answer;
  const asked: unknown = answer.retryAfterMs;
  return typeof asked === "number" && Number.isFinite(asked) && asked >= 0
    ? answer
    : { ...answer, retryAfterMs: undefined };
}

/** `fetch` does not always name what it met as its cause. */
function isFailedFetch(error: unknown): boolean {
  return error instanceof TypeError && ["fetch failed", "terminated"].includes(error.message);
}
