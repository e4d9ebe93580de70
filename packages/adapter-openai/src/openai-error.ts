import type { ModelFailure } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import {
  modelFailureFrom,
  deepestMessage,
  errorObjectFailure,
  isNetworkError,
  isTimeoutError,
  networkFailure,
  withAddress,
} from "@proviso/adapter-kit";
import { APIConnectionError, APIConnectionTimeoutError } from "openai";

/**
 * What the SDK threw, as data; by class and fields, and by message only where a service has no code for it. `address`
 * is where the request went. Throws the signal's reason after an abort.
 */
export function openaiFailure(error: unknown, signal: AbortSignal, address: string): ModelFailure {
  if (signal.aborted) throw signal.reason;
  return { ...classify(error, address), cause: error };
}

function classify(error: unknown, address: string): ModelFailure {
  const message = deepestMessage(error);
  if (error instanceof APIConnectionTimeoutError || isTimeoutError(error)) {
    return { failure: "throttle", kind: "timeout", message };
  }
  if (error instanceof APIConnectionError) return networkFailure(error, address);
  if (isHttpError(error)) return withAddress(modelFailureFrom(error, error.error), address);
  if (isStreamError(error)) return errorObjectFailure(error.error);
  // A connection cut inside the body, or JSON that a stand-in for the client could not read to its end.
  if (isNetworkError(error) || error instanceof SyntaxError) return networkFailure(error, address);
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

/** The SDK's own for an error event: an error of the service without a status. */
function isStreamError(error: unknown): error is { readonly error: unknown } {
  return error instanceof Error && "error" in error && isRecord(error.error);
}
