import type { APICallError } from "@ai-sdk/provider";
import type { ModelFailure, ProviderErrorReason } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import {
  credentialsInError,
  failureRedactor,
  modelFailureFrom,
  deepestMessage,
  errorObjectFailure,
  errorObjectIn,
  invalidResponse,
  isNetworkError,
  isTimeoutError,
  networkFailure,
  parseBody,
  textAt,
  unreadableBody,
  withAddress,
} from "@proviso/adapter-kit";
import { openaiAnswer } from "./openai-answer.ts";
import type { Answer } from "./parts.ts";

/** What a model threw, as data; by class and fields, and by message only where a service has no code for it. */
export async function aiSdkFailure(error: unknown, secrets: readonly string[] = []): Promise<ModelFailure> {
  // Where a model failed its package is loaded already: this one is small, and not needed before.
  const errors = await import("@ai-sdk/provider");
  const thrown = lastOf(error);
  const failure = { ...classify(errors, thrown, secrets), cause: error };
  // The address of a model that is given ready is not known here until an error quotes it.
  const credentials = credentialsInError(thrown);
  return credentials.length === 0 ? failure : failureRedactor(credentials)(failure);
}

/** The answer in a body of status 200 that its SDK refused for its shape, where it is one of OpenAI's. */
export function refusedAnswer(error: unknown): Answer | undefined {
  const { name, statusCode, responseBody, responseHeaders: headers } = Object(error) as Partial<APICallError>;
  if (name !== "AI_APICallError" || statusCode !== 200 || typeof responseBody !== "string") return undefined;
  const json = parseBody(responseBody);
  const answer = json.ok ? openaiAnswer(json.value) : undefined;
  if (answer === undefined || !json.ok) return undefined;
  return { ...answer, response: { modelId: textAt(json.value, "model") || undefined, headers, body: json.value } };
}

type Errors = typeof import("@ai-sdk/provider");

function classify(errors: Errors, error: unknown, secrets: readonly string[]): ModelFailure {
  const message = deepestMessage(error);
  if (isTimeoutError(error)) return { failure: "throttle", kind: "timeout", message };
  if (isNetworkError(error)) return networkFailure(error, addressIn(error));
  if (errors.APICallError.isInstance(error)) return withAddress(callFailure(error, secrets), error.url);
  if (errors.TypeValidationError.isInstance(error)) return unreadable(oddShape, error.value);
  const reason = reasonOf(errors, error);
  if (reason === "invalid_response") return unreadable(message, undefined);
  if (reason !== undefined) return { failure: "provider", reason, message };
  if (isHttpError(error)) return httpFailure(errors, error, message);
  // A part of a stream may be anything.
  if (isRecord(error) && !(error instanceof Error)) return eventFailure(error);
  if (typeof error === "string" && error !== "") return errorObjectFailure(error);
  return { failure: "provider", reason: "unknown", message };
}

/** An error event of a stream; where no word in it is known, by the status that its package has found in it. */
function eventFailure(event: Readonly<Record<string, unknown>>): ModelFailure {
  const failure = errorObjectFailure(event);
  const { statusCode: status, data } = event;
  // A status in the event itself counts as the package's does, which comes with what Google says of waiting.
  const isKnown = failure.status === undefined && (failure.failure !== "provider" || failure.reason !== "unknown");
  if (isKnown || typeof status !== "number" || status < 400) return failure;
  return asRefused(modelFailureFrom({ status, headers: headersOf(undefined, data) }, data), data);
}

/** Where the request went: an APICallError says so, the gateway's has one as its cause. */
function addressIn(error: unknown): string | undefined {
  const { url, cause } = Object(error) as { readonly url?: unknown; readonly cause?: unknown };
  const address = url ?? (Object(cause) as { readonly url?: unknown }).url;
  return typeof address === "string" && address !== "" ? address : undefined;
}

/** An error of the gateway's, with the call's own as its cause. */
function httpFailure(errors: Errors, { statusCode: status, cause }: HttpError, message: string): ModelFailure {
  const call = errors.APICallError.isInstance(cause) ? cause : undefined;
  return { ...modelFailureFrom({ status, headers: headersOf(call, undefined) }, call && bodyOf(call)), message };
}

/** Unwraps the last attempt's error: `generateText` and the like, inside an application's own model, wrap it. */
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

function callFailure(error: APICallError, secrets: readonly string[]): ModelFailure {
  const { statusCode: status, responseBody, message } = error;
  const body = bodyOf(error);
  // `@ai-sdk/openai` gives an answer of status 200 as an object; the status here is its own idea.
  const isAnswer = isRecord(responseBody) || (isRecord(body) && body["object"] === "response");
  if (isAnswer && isRecord(body) && isRecord(body["error"])) return errorObjectFailure(body);
  if (isRecord(responseBody)) return unreadable(message, responseBody);
  if (status !== undefined && status >= 400) {
    const payload = isRecord(body) ? errorObjectIn(body) : undefined;
    return asRefused(modelFailureFrom({ status, headers: headersOf(error, payload) }, payload), payload);
  }
  if (status === undefined) {
    if (error.isRetryable) return { failure: "throttle", kind: "unknown", message };
    return { failure: "provider", reason: "unknown", message };
  }
  return bodyFailure(responseBody, message, secrets);
}

/** A body of status 200 that the SDK could not use. */
function bodyFailure(text: string | undefined, message: string, secrets: readonly string[]): ModelFailure {
  if (text === undefined) return unreadable(message, undefined);
  const json = parseBody(text);
  if (!json.ok) return unreadableBody(text, json.error, secrets);
  // Routers answer with status 200 before they know that it failed.
  if (isRecord(json.value) && isRecord(json.value["error"])) return errorObjectFailure(json.value);
  if (isRecord(json.value)) return unreadable(oddShape, json.value);
  return invalidResponse("The provider's answer is not a JSON object.", json.value);
}

function unreadable(why: string, payload: unknown): ModelFailure {
  return invalidResponse(`The provider's answer cannot be read: ${why.replace(/\.$/, "")}.`, payload);
}

function bodyOf({ responseBody, data }: APICallError): unknown {
  if (typeof responseBody !== "string") return responseBody ?? data;
  const json = parseBody(responseBody);
  return json.ok ? json.value : data;
}

/**
 * Returns the headers with a `get` like that of `Headers`. Google writes how long to wait only in the body. Source:
 * google.rpc.RetryInfo.
 */
function headersOf(error: APICallError | undefined, payload: unknown): { get(name: string): string | null } {
  const delay = detailOf(payload, "retryDelay");
  const seconds = /^\d+(\.\d+)?s$/.test(delay) ? delay.slice(0, -1) : null;
  return { get: (name) => error?.responseHeaders?.[name] ?? (name === "retry-after" ? seconds : null) };
}

/**
 * Google refuses a key with status 400, and a spent quota of the day as it refuses too many requests a minute: only the
 * quota's name differs. Sources: google.rpc.ErrorInfo, google.rpc.QuotaFailure.
 */
function asRefused(failure: ModelFailure, payload: unknown): ModelFailure {
  if (failure.failure === "throttle" && failure.kind === "rate_limit" && isDailyQuota(payload)) {
    return { ...failure, kind: "quota_exhausted" };
  }
  const keyRefused = failure.failure === "provider" && detailOf(payload, "reason") === "API_KEY_INVALID";
  return keyRefused ? { ...failure, reason: "api_key" } : failure;
}

function isDailyQuota(payload: unknown): boolean {
  const details = isRecord(payload) ? payload["details"] : undefined;
  const violations = Array.isArray(details) ? details.map((detail) => isRecord(detail) && detail["violations"]) : [];
  return violations.flat().some((violation) => /PerDay/.test(textAt(violation, "quotaId")));
}

function detailOf(payload: unknown, key: string): string {
  const details = isRecord(payload) ? payload["details"] : undefined;
  const texts = Array.isArray(details) ? details.map((detail) => textAt(detail, key)) : [];
  return texts.find((text) => text !== "") ?? "";
}

/**
 * An HTTP error, recognised by its fields: the gateway's errors are classes of a package that need not be installed.
 */
interface HttpError extends Error {
  readonly statusCode: number;
}

function isHttpError(error: unknown): error is HttpError {
  return error instanceof Error && typeof (error as Partial<HttpError>).statusCode === "number";
}
