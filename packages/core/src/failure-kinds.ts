/** Where an evaluation was when it failed; "render" is all that comes before the first request. */
export type EvaluationPhase = "render" | "request" | "tool" | "response";

/**
 * Why a request was refused for the moment; the `kind` of a ThrottleError. All of them are asked again. "network": no
 * server could be reached; "unknown": a connection that broke, among others.
 */
export type ThrottleKind = "rate_limit" | "quota_exhausted" | "timeout" | "server_error" | "network" | "unknown";

/** Why a provider did not answer, where asking again would not help; the `reason` of a ProviderError. */
export type ProviderErrorReason =
  | "api_key"
  | "context_length"
  | "not_found"
  | "bad_request"
  | "content_filter"
  | "refusal"
  | "truncated"
  | "invalid_response"
  | "unknown";
