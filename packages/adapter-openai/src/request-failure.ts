import type { ModelFailure } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import {
  deepestMessage,
  errorObjectFailure,
  isNetworkError,
  isTimeoutError,
  modelFailureFrom,
  networkFailure,
  withAddress,
} from "@proviso/adapter-kit";

/** `fetch` rejected, or the body of its answer did: whatever it says, no answer came. */
export class ConnectionError extends Error {
  constructor(thrown: unknown) {
    super("No answer came.", { cause: thrown instanceof Error ? thrown : new Error(String(thrown)) });
  }
}

/**
 * Awaits what a connection gives.
 * @throws {ConnectionError} for whatever it throws: hosts have neither words nor codes in common for that.
 */
export async function fromConnection<T>(given: () => T | PromiseLike<T>): Promise<T> {
  try {
    return await given();
  } catch (error) {
    throw new ConnectionError(error);
  }
}

/**
 * Turns what was thrown during a request into data, by class and fields, and by message only where nothing else
 * decides. `address` is where the request went. Throws the signal's reason after an abort.
 */
export function requestFailure(error: unknown, signal: AbortSignal, address: string): ModelFailure {
  if (signal.aborted) throw signal.reason;
  return { ...classify(error, address), cause: error instanceof ConnectionError ? error.cause : error };
}

function classify(error: unknown, address: string): ModelFailure {
  if (isTimeoutError(error)) return timeout(error);
  if (isConnectionError(error)) return saysTimeout(error) ? timeout(error) : networkFailure(error, address);
  if (isHttpError(error)) return withAddress(modelFailureFrom(error, error.error), address);
  if (isStreamError(error)) return errorObjectFailure(error.error);
  // A connection cut inside the body, or JSON that a stand-in for the client could not read to its end.
  if (isNetworkError(error) || error instanceof SyntaxError) return networkFailure(error, address);
  return { failure: "provider", reason: "unknown", message: deepestMessage(error) };
}

function timeout(error: unknown): ModelFailure {
  return { failure: "throttle", kind: "timeout", message: deepestMessage(error) };
}

/** Our own, or the SDK's for the same: an error of the service with neither status nor content. */
function isConnectionError(error: unknown): error is Error {
  if (error instanceof ConnectionError) return true;
  if (!(error instanceof Error) || !("status" in error) || !("error" in error)) return false;
  return error.status === undefined && error.error === undefined;
}

/** Some systems say in words only that the time was up, and some abort. */
function saysTimeout(error: Error): boolean {
  const { cause } = error;
  if (cause instanceof Error && cause.name === "AbortError") return true;
  const behind = cause instanceof Error ? cause.cause : undefined;
  return /timed? ?out/i.test([error, cause, behind].map(String).join(" "));
}

interface HttpError {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly error?: unknown;
}

/** Recognises the error by its fields: several copies of the SDK may be installed, each with classes of its own. */
function isHttpError(error: unknown): error is HttpError {
  if (typeof error !== "object" || error === null) return false;
  const { status, headers } = error as Partial<HttpError>;
  return typeof status === "number" && typeof headers?.get === "function";
}

/** The SDK's own for an error event: an error of the service without a status. */
function isStreamError(error: unknown): error is { readonly error: unknown } {
  return error instanceof Error && "error" in error && isRecord(error.error);
}
