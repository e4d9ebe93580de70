import type { ProviderErrorReason, ThrottleKind } from "@proviso/core";

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
export const reasonCodes: ReadonlyMap<string, ProviderErrorReason> = new Map([
  ["invalid_prompt", "bad_request"],
  ["invalid_request_error", "bad_request"],
  ["content_filter", "content_filter"],
  ["authentication_error", "api_key"],
  ["invalid_api_key", "api_key"],
  ["not_found_error", "not_found"],
  ["model_not_found", "not_found"],
]);
