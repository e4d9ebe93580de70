import { isRecord, type ModelFailure, type ProviderErrorReason, type ThrottleKind } from "@proviso/core";
import { modelFailureFrom } from "@proviso/runtime";
import { textAt } from "@proviso/runtime/adapter";
import { APIConnectionError, APIConnectionTimeoutError } from "openai";

/** What the SDK threw, as data; by class and fields, never by message. Throws the signal's reason after an abort. */
export function openaiFailure(error: unknown, signal: AbortSignal): ModelFailure {
  if (signal.aborted) throw signal.reason;
  return { ...classify(error), cause: error };
}

function classify(error: unknown): ModelFailure {
  const message = deepestMessage(error);
  if (error instanceof APIConnectionTimeoutError || isTimeout(error)) {
    return { failure: "throttle", kind: "timeout", message };
  }
  if (error instanceof APIConnectionError) return { failure: "throttle", kind: "unknown", message };
  if (isHttpError(error)) return modelFailureFrom(error, error.error);
  if (isStreamError(error)) return eventFailure(error.error);
  // A connection cut inside the body, or JSON that a stand-in for the client could not read to its end.
  if (isNetworkError(error) || error instanceof SyntaxError) return { failure: "throttle", kind: "unknown", message };
  return { failure: "provider", reason: "unknown", message };
}

/** What an error event within a stream says, which has no status of its own. */
export function eventFailure(error: unknown): ModelFailure {
  const details = isRecord(error) && isRecord(error["error"]) ? error["error"] : error;
  const message = textAt(details, "message") || "The provider failed while it answered.";
  for (const code of [textAt(details, "code"), textAt(details, "type")]) {
    const kind = throttleCodes.get(code);
    if (kind !== undefined) return { failure: "throttle", kind, message, payload: error };
    const reason = reasons.get(code);
    if (reason !== undefined) return { failure: "provider", reason, message, payload: error };
  }
  return { failure: "provider", reason: "unknown", message, payload: error };
}

/** Codes of errors that come without a status. */
const throttleCodes: ReadonlyMap<string, ThrottleKind> = new Map([
  ["server_error", "server_error"],
  ["internal_error", "server_error"],
  ["overloaded", "server_error"],
  ["overloaded_error", "server_error"],
  ["service_unavailable", "server_error"],
  ["rate_limit_exceeded", "rate_limit"],
  ["rate_limit_error", "rate_limit"],
  ["insufficient_quota", "quota_exhausted"],
  ["timeout", "timeout"],
  ["vector_store_timeout", "timeout"],
]);
const reasons: ReadonlyMap<string, ProviderErrorReason> = new Map([
  ["invalid_prompt", "bad_request"],
  ["invalid_request_error", "bad_request"],
  ["context_length_exceeded", "context_length"],
  ["content_filter", "content_filter"],
  ["invalid_api_key", "api_key"],
  ["model_not_found", "not_found"],
]);

interface HttpError {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly error?: unknown;
}

/** By its fields: a client of another copy of the SDK has other classes. */
function isHttpError(error: unknown): error is HttpError {
  if (typeof error !== "object" || error === null) return false;
  const { status, headers } = error as Partial<HttpError>;
  return typeof status === "number" && typeof headers?.get === "function";
}

/** The SDK's own for an error event: an error of the service without a status. */
function isStreamError(error: unknown): error is { readonly error: unknown } {
  return error instanceof Error && "error" in error && isRecord(error.error);
}

const timeoutCodes = new Set([
  "ETIMEDOUT",
  "UND_ERR_BODY_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_CONNECT_TIMEOUT",
]);

function isTimeout(error: unknown): boolean {
  return chainOf(error).some((at) => at.name === "TimeoutError" || timeoutCodes.has(codeOf(at)));
}

/** Sockets, DNS, undici and a cut compressed body each have codes; a mistake in a program has none of these. */
function isNetworkError(error: unknown): boolean {
  return chainOf(error).some((at) => /^(E[A-Z]+|EAI_[A-Z]+|UND_ERR_\w+|Z_\w+)$/.test(codeOf(at)));
}

function codeOf(error: Error): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? code : "";
}

/** "Connection error." says less than the socket's own error below it. */
function deepestMessage(error: unknown): string {
  return chainOf(error).findLast(({ message }) => message !== "")?.message ?? "The request failed.";
}

/** The error and its causes, outermost first; a chain that is longer, or a circle, is cut. */
function chainOf(error: unknown): readonly Error[] {
  const chain: Error[] = [];
  let at = error;
  while (at instanceof Error && chain.length < 8) {
    chain.push(at);
    at = at instanceof AggregateError ? at.errors[0] : at.cause;
  }
  return chain;
}
