import { type ModelFailure, type ProviderErrorReason, type ThrottleKind } from "@proviso/core";
import { errorMessageIn, errorObjectIn, isContextFull, isCreditSpent, isCutShort } from "./error-text.ts";
import { textAt } from "./body.ts";

/** What services call the failures that would pass, in the `code` or `type` of an error object. */
export const throttleCodes: ReadonlyMap<string, ThrottleKind> = new Map([
  ["server_error", "server_error"],
  ["internal_error", "server_error"],
  ["api_error", "server_error"],
  ["overloaded", "server_error"],
  ["overloaded_error", "server_error"],
  ["service_unavailable", "server_error"],
  ["rate_limit_exceeded", "rate_limit"],
  ["rate_limit_error", "rate_limit"],
  ["insufficient_quota", "quota_exhausted"],
  ["billing_hard_limit_reached", "quota_exhausted"],
  ["quota_exceeded", "quota_exhausted"],
  ["timeout", "timeout"],
  ["timeout_error", "timeout"],
  ["vector_store_timeout", "timeout"],
]);
/** What services call the failures that last, in the `code` or `type` of an error object. */
const reasons: ReadonlyMap<string, ProviderErrorReason> = new Map([
  ["invalid_prompt", "bad_request"],
  ["invalid_request_error", "bad_request"],
  ["content_filter", "content_filter"],
  ["authentication_error", "api_key"],
  ["invalid_api_key", "api_key"],
  ["not_found_error", "not_found"],
  ["model_not_found", "not_found"],
]);

/**
 * Makes a failure of an error object that a service sends without a status, inside a stream or an answer that began as
 * a success. A full context is looked for first, then the `code`, then the `type`. Sources: the error events of
 * OpenAI's and Anthropic's streams.
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
    const reason = reasons.get(code);
    if (reason !== undefined) return { failure: "provider", reason, message, payload };
  }
  return { failure: "provider", reason: "unknown", message, payload };
}
