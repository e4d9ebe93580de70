import type { ModelFailure, ProviderErrorReason, ThrottleKind } from "@proviso/core";
import { shownAddress } from "@proviso/runtime/internal";
import { throttleCodes } from "./error-codes.ts";
import { rateLimitFrom } from "./reported.ts";
import { errorMessageIn, errorObjectIn, isContextFull, isCreditSpent, isCutShort } from "./error-text.ts";

interface Headers {
  get(name: string): string | null;
}

/**
 * Milliseconds the provider asked for: `retry-after-ms`, or `Retry-After` in seconds, fractions, or as an HTTP date
 * measured against the answer's own Date (RFC 9110, 10.2.3). Negative, past or unreadable: undefined.
 */
function retryAfterMs(headers: Headers): number | undefined {
  const exact = number(headers.get("retry-after-ms"));
  if (exact !== undefined) return exact;
  const value = headers.get("retry-after");
  if (value === null) return undefined;
  const seconds = number(value);
  if (seconds !== undefined) return seconds * 1_000;
  const wanted = httpDate(value);
  const now = httpDate(headers.get("date"));
  if (wanted === undefined || now === undefined) return undefined;
  return wanted > now ? wanted - now : undefined;
}

/**
 * An HTTP refusal as a ModelFailure: kind by status, Retry-After in all its forms against the answer's own Date. A
 * fetch `Response` will do.
 */
export function modelFailureFrom(
  answer: { readonly status: number; readonly headers: Headers },
  payload?: unknown,
): ModelFailure {
  const { status, headers } = answer;
  const message = errorMessageIn(payload) || withoutMessage(status);
  const kind = throttleKind(status, payload);
  if (kind === undefined)
    return { failure: "provider", reason: providerReason(status, payload), message, status, payload };
  // The failure would pass, but the provider asks not to try again.
  const final = headers.get("x-should-retry")?.trim().toLowerCase() === "false";
  const rateLimit = rateLimitFrom(headers);
  const stated = rateLimit === undefined ? {} : { rateLimit };
  const asked = { retryAfterMs: retryAfterMs(headers), ...stated };
  const refusal = { failure: "throttle", kind, ...asked, message, status, payload } as const;
  return final ? { ...refusal, retry: false } : refusal;
}

/** The message of an answer that has none. */
const withoutMessage = (status: number): string => `The provider answered with status ${status}.`;

/** What servers say of an address that they do not know; a model that they do not know has an error of its own. */
const unknownAddress =
  /^(invalid url|not found|404\b|page not found|cannot post|no route|unknown (url|path|endpoint|route))/i;

/** Where a server does not know the address, the message has it: the base URL may lack its `/v1`. */
export function withAddress(failure: ModelFailure, address: string | undefined): ModelFailure {
  const { status, message } = failure;
  if (status !== 404 || address === undefined) return failure;
  if (message !== withoutMessage(status) && !unknownAddress.test(message)) return failure;
  return { ...failure, message: `${message} (The request went to ${shownAddress(address)}.)` };
}

const notRetriedServerErrors = new Set([501, 505]);

function throttleKind(status: number, payload: unknown): ThrottleKind | undefined {
  const error = errorObjectIn(payload);
  const kinds = [error["code"], error["type"]].map((code) => throttleCodes.get(String(code)));
  if (kinds.includes("quota_exhausted") || isCreditSpent(payload)) return "quota_exhausted";
  if (status === 429) return "rate_limit";
  if (status === 408) return "timeout";
  if (status === 409) return "unknown";
  return status >= 500 && !notRetriedServerErrors.has(status) ? "server_error" : undefined;
}

function providerReason(status: number, payload: unknown): ProviderErrorReason {
  const { code } = errorObjectIn(payload);
  if (status === 401 || status === 403) return "api_key";
  if (status === 413 || isContextFull(payload)) return "context_length";
  if (isCutShort(payload)) return "truncated";
  if (status === 404) return "not_found";
  if (code === "content_filter") return "content_filter";
  return status >= 400 && status < 500 ? "bad_request" : "unknown";
}

function number(text: string | null): number | undefined {
  if (text === null || !/^\s*\d+(\.\d+)?\s*$/.test(text)) return undefined;
  // More digits than a number has are a wait all the same.
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

function httpDate(text: string | null): number | undefined {
  // Date.parse also reads "-5" and "12:00"; a date of HTTP names its day.
  if (text === null || !/^\s*[A-Za-z]{3}/.test(text)) return undefined;
  // The form of asctime names no zone; every date of HTTP is GMT (RFC 9110, 5.6.7).
  const at = Date.parse(/(?:[a-z]|[+-]\d{4})\s*$/i.test(text) ? text : `${text} GMT`);
  return Number.isNaN(at) ? undefined : at;
}
