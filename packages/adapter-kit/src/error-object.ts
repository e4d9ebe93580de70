import type { ModelFailure } from "@proviso/core";
import { textAt } from "./body.ts";
import { reasonCodes, throttleCodes } from "./error-codes.ts";
import { errorMessageIn, errorObjectIn, isContextFull, isCreditSpent, isCutShort } from "./error-text.ts";
import { modelFailureFrom } from "./http-failure.ts";

/**
 * Makes a failure of an error object that a service sends without a status, inside a stream or an answer that began as
 * a success. A full context is looked for first, then the words of the `code` and the `type`, then a `code` that is an HTTP
 * status. Sources: the error events of OpenAI's and Anthropic's streams; OpenRouter's API reference, "Errors".
 */
export function errorObjectFailure(payload: unknown): ModelFailure {
  const error = errorObjectIn(payload);
  const message = errorMessageIn(payload) || "The provider failed while it answered.";
  if (isContextFull(payload)) return { failure: "provider", reason: "context_length", message, payload };
  if (isCutShort(payload)) return { failure: "provider", reason: "truncated", message, payload };
  if (isCreditSpent(payload)) return { failure: "throttle", kind: "quota_exhausted", message, payload };
  for (const code of [textAt(error, "code"), textAt(error, "type")]) {
    const kind = throttleCodes.get(code);
    if (kind !== undefined) return { failure: "throttle", kind, message, payload };
    const reason = reasonCodes.get(code);
    if (reason !== undefined) return { failure: "provider", reason, message, payload };
  }
  const status = Number(error["code"]);
  if (!(status >= 400 && status < 600)) return { failure: "provider", reason: "unknown", message, payload };
  return { ...modelFailureFrom({ status, headers: new Headers() }, payload), message };
}
