import type { ModelFailure } from "@proviso/core";
import { modelFailureFrom } from "@proviso/runtime";
import { APIConnectionError, APIConnectionTimeoutError } from "openai";
import { isObject } from "./wire.ts";

/** What the SDK threw, as data; by class and fields, never by message. Throws the signal's reason after an abort. */
export function openaiFailure(error: unknown, signal: AbortSignal, apiKey: string | undefined): ModelFailure {
  if (signal.aborted) throw signal.reason;
  const failure = classify(error);
  // The service's own words could repeat the key.
  const message = withoutKey(failure.message, apiKey);
  return { ...failure, message, payload: payloadWithoutKey(failure.payload, apiKey), cause: error };
}

function classify(error: unknown): ModelFailure {
  const message = deepestMessage(error);
  if (error instanceof APIConnectionTimeoutError) return { failure: "throttle", kind: "timeout", message };
  if (error instanceof APIConnectionError) return { failure: "throttle", kind: "unknown", message };
  if (isHttpError(error)) return { ...modelFailureFrom(error, error.error), message: serviceMessage(error, message) };
  // A body that was cut: the connection ended inside it, or its JSON does not end.
  if (error instanceof TypeError || error instanceof SyntaxError)
    return { failure: "throttle", kind: "unknown", message };
  return { failure: "provider", reason: "unknown", message };
}

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

function serviceMessage({ error }: HttpError, otherwise: string): string {
  return isObject(error) && typeof error["message"] === "string" ? error["message"] : otherwise;
}

/** "Connection error." says less than the socket's own error below it. */
function deepestMessage(error: unknown): string {
  let at = error;
  let message = "The request failed.";
  for (let depth = 0; depth < 8 && at instanceof Error; depth++) {
    if (at.message !== "") message = at.message;
    at = at instanceof AggregateError ? at.errors[0] : at.cause;
  }
  return message;
}

function withoutKey(text: string, apiKey: string | undefined): string {
  return apiKey === undefined ? text : text.replaceAll(apiKey, "***");
}

function payloadWithoutKey(payload: unknown, apiKey: string | undefined): unknown {
  if (payload === undefined || apiKey === undefined) return payload;
  const text = JSON.stringify(payload) ?? "null";
  return text.includes(apiKey) ? JSON.parse(withoutKey(text, apiKey)) : payload;
}
