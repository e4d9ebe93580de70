import type { APICallError } from "@ai-sdk/provider";
import { parseJson, type ModelFailure, type ProviderErrorReason, type ThrottleKind } from "@proviso/core";
import { modelFailureFrom } from "@proviso/runtime";
import { defined, isObject, textAt } from "./parts.ts";

/** What a model threw, as data; by class and fields, never by message. */
export async function aiSdkFailure(error: unknown): Promise<ModelFailure> {
  // Where a model failed its package is loaded already: this one is small, and not needed before.
  const errors = await import("@ai-sdk/provider");
  const thrown = lastOf(error);
  return { ...classify(errors, thrown), cause: error };
}

type Errors = typeof import("@ai-sdk/provider");

function classify(errors: Errors, error: unknown): ModelFailure {
  const message = deepestMessage(error);
  if (isTimeout(error)) return { failure: "throttle", kind: "timeout", message };
  if (isNetworkError(error)) return { failure: "throttle", kind: "unknown", message };
  if (errors.APICallError.isInstance(error)) return callFailure(error);
  const reason = reasonOf(errors, error);
  if (reason !== undefined) return { failure: "provider", reason, message };
  if (isTold(error)) return toldFailure(error);
  return { failure: "provider", reason: "unknown", message };
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
  const unreadable = is("JSONParseError", "TypeValidationError", "InvalidResponseDataError");
  return unreadable || is("EmptyResponseBodyError", "NoContentGeneratedError") ? "invalid_response" : undefined;
}

/** Characters of an unreadable body that are kept. */
const keptLength = 4_096;
const limits = { maxDepth: 256, maxLength: 64 * 1024 * 1024 };

function callFailure(error: APICallError): ModelFailure {
  const { statusCode: status, responseBody, message } = error;
  const body = bodyOf(error);
  if (isTold(body)) return toldFailure(body);
  // Some SDKs throw of an answer with status 200 and give it a status of their own; the body is parsed then.
  if (status !== undefined && status >= 400 && !isObject(responseBody)) {
    const payload = isObject(body) && isObject(body["error"]) ? body["error"] : body;
    return asRefused(modelFailureFrom({ status, headers: headersOf(error, body) }, payload), body);
  }
  if (status === undefined && error.isRetryable) return { failure: "throttle", kind: "unknown", message };
  if (typeof responseBody === "string" && endsInside(responseBody)) {
    const payload = responseBody.slice(0, keptLength);
    return { failure: "throttle", kind: "unknown", message: "The provider's answer ends inside its JSON.", payload };
  }
  const payload = body ?? String(responseBody ?? "").slice(0, keptLength);
  return { failure: "provider", reason: "invalid_response", message: `The provider's answer cannot be read: ${message}.`, payload };
}

function bodyOf({ responseBody, data }: APICallError): unknown {
  if (typeof responseBody !== "string") return responseBody ?? data;
  const json = parseJson(responseBody, limits);
  return json.ok ? json.value : data;
}

/** `get` as of `Headers`; Google tells how long to wait in the body only. Source: google.rpc.RetryInfo. */
function headersOf({ responseHeaders = {} }: APICallError, body: unknown): { get(name: string): string | null } {
  const delay = detailOf(body, "retryDelay");
  const seconds = /^\d+(\.\d+)?s$/.test(delay) ? delay.slice(0, -1) : null;
  return { get: (name) => responseHeaders[name] ?? (name === "retry-after" ? seconds : null) };
}

/** Google refuses a key with status 400. Source: google.rpc.ErrorInfo. */
function asRefused(failure: ModelFailure, body: unknown): ModelFailure {
  const keyRefused = failure.failure === "provider" && detailOf(body, "reason") === "API_KEY_INVALID";
  return keyRefused ? { ...failure, reason: "api_key" } : failure;
}

function detailOf(body: unknown, key: string): string {
  const details = isObject(body) && isObject(body["error"]) ? body["error"]["details"] : undefined;
  const texts = Array.isArray(details) ? details.map((detail) => textAt(detail, key)) : [];
  return texts.find((text) => text !== "") ?? "";
}

/** A failure that a service tells inside an answer or a stream of status 200. */
interface Told {
  readonly code: string;
  readonly message: string;
  readonly frame: unknown;
}
