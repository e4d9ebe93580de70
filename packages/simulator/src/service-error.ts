import type { Api, HttpStep } from "./types.ts";

/** An error of a service, in no service's own shape. */
export interface ServiceError {
  /** The HTTP status of the answer. */
  readonly status: number;
  /** What went wrong, for people. */
  readonly message: string;
  /** The kind of the error, in OpenAI's words. Default: the one that fits the status. The other services name theirs. */
  readonly type?: string | undefined;
  /** The code that a program reads, "context_length_exceeded" for example. Default: none. */
  readonly code?: string | null | undefined;
  /** The field of the request that is wrong. Default: none. */
  readonly param?: string | undefined;
  /** Headers of the answer. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds to wait, where the service writes them into the body (Gemini). Default: none. */
  readonly retryMs?: number | undefined;
}

/**
 * Writes an error as the service of that API does. It makes a step of a script or a rule.
 *
 * @example
 * ```ts
 * import { errorStep } from "@proviso/simulator";
 *
 * const step = errorStep("responses", { status: 429, message: "Slow down." });
 * console.log(step.status); // 429
 * ```
 */
export function errorStep(api: Api | undefined, error: ServiceError): HttpStep {
  const { status, headers } = error;
  return { status, headers, body: bodies[api ?? "responses"](error) };
}

const bodies: { readonly [api in Api]: (error: ServiceError) => object } = {
  responses: openaiBody,
  chat: openaiBody,
  anthropic: anthropicBody,
  gemini: geminiBody,
};

function openaiBody({ status, message, type, param, code = null }: ServiceError): object {
  const kind = type ?? (status < 500 ? "invalid_request_error" : "server_error");
  return { error: { message, type: kind, param: param ?? null, code } };
}

// Source: Anthropic API reference, "Errors".
const anthropicTypes: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
};

function anthropicBody({ status, message, code }: ServiceError): object {
  const type = anthropicTypes[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
  return { type: "error", error: { type, message: withOwnCode(message, code) } };
}

// Source: google.rpc.Code.
const geminiStatuses: Readonly<Record<number, string>> = {
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  501: "UNIMPLEMENTED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

function geminiBody({ status, message, code, retryMs }: ServiceError): object {
  const name = geminiStatuses[status] ?? (status < 500 ? "INVALID_ARGUMENT" : "INTERNAL");
  const details = [...keyDetails(code), ...quotaDetails(code), ...retryDetails(retryMs)];
  const error = { code: status, message: withOwnCode(message, code), status: name };
  return { error: details.length === 0 ? error : { ...error, details } };
}

function keyDetails(code: ServiceError["code"]): readonly object[] {
  if (code !== "invalid_api_key") return [];
  const metadata = { service: "generativelanguage.googleapis.com" };
  const reason = "API_KEY_INVALID";
  return [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "googleapis.com", metadata }];
}

/** A quota of the day and a limit of the minute differ in the quota's name alone. */
function quotaDetails(code: ServiceError["code"]): readonly object[] {
  const span = code === "insufficient_quota" ? "Day" : code === "rate_limit_exceeded" ? "Minute" : undefined;
  if (span === undefined) return [];
  const quotaMetric = "generativelanguage.googleapis.com/generate_content_free_tier_requests";
  const quotaId = `GenerateRequestsPer${span}PerProjectPerModel-FreeTier`;
  return [{ "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ quotaMetric, quotaId }] }];
}

function retryDetails(retryMs: number | undefined): readonly object[] {
  if (retryMs === undefined) return [];
  return [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${retryMs / 1_000}s` }];
}

/** The simulator's own codes stand in the message where the service has no field for a code. */
function withOwnCode(message: string, code: ServiceError["code"]): string {
  return code?.startsWith("simulator_") ? `${message} (${code})` : message;
}
