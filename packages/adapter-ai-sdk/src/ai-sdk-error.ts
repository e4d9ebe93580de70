import type { APICallError } from "@ai-sdk/provider";
import { isRecord, parseJson, type ModelFailure, type ProviderErrorReason, type ThrottleKind } from "@proviso/core";
import { modelFailureFrom } from "@proviso/runtime";
import { textAt } from "@proviso/runtime/adapter";
import { openaiAnswer } from "./openai-answer.ts";
import type { Answer } from "./parts.ts";

/** What a model threw, as data; by class and fields, never by message. */
export async function aiSdkFailure(error: unknown): Promise<ModelFailure> {
  // Where a model failed its package is loaded already: this one is small, and not needed before.
  const errors = await import("@ai-sdk/provider");
  const thrown = lastOf(error);
  return { ...classify(errors, thrown), cause: error };
}

/** The answer in a body of status 200 that its SDK refused for its shape, where it is one of OpenAI's. */
export function refusedAnswer(error: unknown): Answer | undefined {
  const { name, statusCode, responseBody, responseHeaders: headers } = Object(error) as Partial<APICallError>;
  if (name !== "AI_APICallError" || statusCode !== 200 || typeof responseBody !== "string") return undefined;
  const json = parseJson(responseBody, limits);
  const answer = json.ok ? openaiAnswer(json.value) : undefined;
  if (answer === undefined || !json.ok) return undefined;
  return { ...answer, response: { modelId: textAt(json.value, "model") || undefined, headers, body: json.value } };
}

type Errors = typeof import("@ai-sdk/provider");

function classify(errors: Errors, error: unknown): ModelFailure {
  const message = deepestMessage(error);
  if (isTimeout(error)) return { failure: "throttle", kind: "timeout", message };
  if (isNetworkError(error)) return { failure: "throttle", kind: "unknown", message };
  if (errors.APICallError.isInstance(error)) return callFailure(error);
  if (errors.TypeValidationError.isInstance(error)) return unreadable(oddShape, error.value);
  const reason = reasonOf(errors, error);
  if (reason === "invalid_response") return unreadable(message, undefined);
  if (reason !== undefined) return { failure: "provider", reason, message };
  if (isHttpError(error)) return httpFailure(errors, error, message);
  // A part of a stream may be anything.
  if (isRecord(error) && !(error instanceof Error)) return toldFailure(error);
  return { failure: "provider", reason: "unknown", message };
}

/** An error of the gateway's, with the call's own as its cause. */
function httpFailure(errors: Errors, { statusCode: status, cause }: HttpError, message: string): ModelFailure {
  const call = errors.APICallError.isInstance(cause) ? cause : undefined;
  return { ...modelFailureFrom({ status, headers: headersOf(call, undefined) }, call && bodyOf(call)), message };
}

/** `generateText` and the like, inside a model of somebody's own, wrap the last of their attempts. */
function lastOf(error: unknown): unknown {
  const { name, lastError } = (error ?? {}) as { readonly name?: unknown; readonly lastError?: unknown };
  return name === "AI_RetryError" && lastError !== undefined ? lastError : error;
}

function reasonOf(errors: Errors, error: unknown): ProviderErrorReason | undefined {
  const is = (...names: readonly (keyof Errors)[]): boolean =>
    names.some((name) => (errors[name] as { isInstance?(error: unknown): boolean }).isInstance?.(error));
  if (is("LoadAPIKeyError")) return "api_key";
  if (is("NoSuchModelError")) return "not_found";
  if (is("UnsupportedFunctionalityError", "InvalidPromptError", "InvalidArgumentError", "LoadSettingError")) {
    return "bad_request";
  }
  const invalid = is("JSONParseError", "InvalidResponseDataError", "EmptyResponseBodyError", "NoContentGeneratedError");
  return invalid ? "invalid_response" : undefined;
}

const oddShape = "it has another shape than its SDK expects";
/** Characters of an unreadable body that are kept. */
const keptLength = 4_096;
const limits = { maxDepth: 256, maxLength: 64 * 1024 * 1024 };

function callFailure(error: APICallError): ModelFailure {
  const { statusCode: status, responseBody, message } = error;
  const body = bodyOf(error);
  // A response that failed has status 200; the status here is the SDK's own idea.
  if (isRecord(body) && body["object"] === "response" && isRecord(body["error"])) return toldFailure(body);
  if (isRecord(responseBody)) return unreadable(message, responseBody);
  if (status !== undefined && status >= 400) {
    const payload = isRecord(body) ? errorIn(body) : undefined;
    return asRefused(modelFailureFrom({ status, headers: headersOf(error, payload) }, payload), payload);
  }
  if (status === undefined) {
    if (error.isRetryable) return { failure: "throttle", kind: "unknown", message };
    return { failure: "provider", reason: "unknown", message };
  }
  return bodyFailure(responseBody, message);
}

/** A body of status 200 that the SDK could not use. */
function bodyFailure(text: string | undefined, message: string): ModelFailure {
  if (text === undefined) return unreadable(message, undefined);
  const json = parseJson(text, limits);
  if (json.ok && isRecord(json.value)) return unreadable(oddShape, json.value);
  if (json.ok) return { ...unreadable("", json.value), message: "The provider's answer is not a JSON object." };
  const payload = text.slice(0, keptLength);
  if (text.trim() !== "" && !endsInside(text)) return unreadable(json.error, payload);
  return { failure: "throttle", kind: "unknown", message: "The provider's answer ends inside its JSON.", payload };
}

function unreadable(why: string, payload: unknown): ModelFailure {
  const message = `The provider's answer cannot be read: ${why.replace(/\.$/, "")}.`;
  return { failure: "provider", reason: "invalid_response", message, payload };
}

function bodyOf({ responseBody, data }: APICallError): unknown {
  if (typeof responseBody !== "string") return responseBody ?? data;
  const json = parseJson(responseBody, limits);
  return json.ok ? json.value : data;
}

/** `get` as of `Headers`; Google tells how long to wait in the body only. Source: google.rpc.RetryInfo. */
function headersOf(error: APICallError | undefined, told: unknown): { get(name: string): string | null } {
  const delay = detailOf(told, "retryDelay");
  const seconds = /^\d+(\.\d+)?s$/.test(delay) ? delay.slice(0, -1) : null;
  return { get: (name) => error?.responseHeaders?.[name] ?? (name === "retry-after" ? seconds : null) };
}

/** Google refuses a key with status 400. Source: google.rpc.ErrorInfo. */
function asRefused(failure: ModelFailure, told: unknown): ModelFailure {
  const keyRefused = failure.failure === "provider" && detailOf(told, "reason") === "API_KEY_INVALID";
  return keyRefused ? { ...failure, reason: "api_key" } : failure;
}

function detailOf(told: unknown, key: string): string {
  const details = isRecord(told) ? told["details"] : undefined;
  const texts = Array.isArray(details) ? details.map((detail) => textAt(detail, key)) : [];
  return texts.find((text) => text !== "") ?? "";
}

const throttleCodes: ReadonlyMap<string, ThrottleKind> = new Map([
  ["server_error", "server_error"],
  ["internal_error", "server_error"],
  ["api_error", "server_error"],
  ["overloaded", "server_error"],
  ["overloaded_error", "server_error"],
  ["service_unavailable", "server_error"],
  ["rate_limit_exceeded", "rate_limit"],
  ["rate_limit_error", "rate_limit"],
  ["insufficient_quota", "quota_exhausted"],
  ["timeout", "timeout"],
  ["timeout_error", "timeout"],
  ["vector_store_timeout", "timeout"],
]);
const reasons: ReadonlyMap<string, ProviderErrorReason> = new Map([
  ["invalid_prompt", "bad_request"],
  ["invalid_request_error", "bad_request"],
  ["context_length_exceeded", "context_length"],
  ["content_filter", "content_filter"],
  ["authentication_error", "api_key"],
  ["invalid_api_key", "api_key"],
  ["not_found_error", "not_found"],
  ["model_not_found", "not_found"],
]);

/** What a service tells of its failure inside an answer or a stream that began as a success. */
function toldFailure(told: Readonly<Record<string, unknown>>): ModelFailure {
  const error = errorIn(told);
  const codes = [textAt(error, "code"), textAt(error, "type")];
  const message = textAt(error, "message") || "The provider failed while it answered.";
  const kind = codes.map((code) => throttleCodes.get(code)).find((found) => found !== undefined);
  if (kind !== undefined) return { failure: "throttle", kind, message, payload: told };
  const reason = codes.map((code) => reasons.get(code)).find((found) => found !== undefined);
  return { failure: "provider", reason: reason ?? "unknown", message, payload: told };
}

/** Under `error`, under the `error` of a response that failed, or the object itself. */
function errorIn(told: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { error, response } = told;
  if (isRecord(error)) return error;
  return isRecord(response) && isRecord(response["error"]) ? response["error"] : told;
}

/** By its fields: the gateway's errors have their own classes, of a package that need not be here. */
interface HttpError extends Error {
  readonly statusCode: number;
}

function isHttpError(error: unknown): error is HttpError {
  return error instanceof Error && typeof (error as Partial<HttpError>).statusCode === "number";
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

/** "Cannot connect to API" says less than the socket's own error below it. */
function deepestMessage(error: unknown): string {
  const chain = chainOf(error).filter(({ message }) => message !== "");
  return chain.at(-1)?.message ?? (typeof error === "string" && error !== "" ? error : "The request failed.");
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

/** Begins as JSON and was cut: a bracket or a string is still open at the end. */
function endsInside(text: string): boolean {
  if (!/^\s*[{[]/.test(text)) return false;
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (inString) {
      if (char === "\\") i++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
  }
  return inString || depth > 0;
}
