import type { ModelFailure, RateLimit } from "@proviso/core";
import {
  invalidResponse,
  longestBody,
  parseBody,
  rateLimitFrom,
  reportedCost,
  unreadableBody,
  type RequestGuard,
} from "@proviso/adapter-kit";
import type { Opened, OpenResponse } from "./connection.ts";
import { fromConnection } from "./request-failure.ts";

/** What the headers of an answer say. */
export interface Stated {
  /** US dollars. */
  readonly costUsd: number | undefined;
  readonly rateLimit: RateLimit | undefined;
}

/** A body that was read, with what its headers say. */
export interface Received extends Stated {
  readonly failure?: undefined;
  readonly body: unknown;
  /** true: it holds also where the wait for the end of its stream was given up. */
  readonly isWhole?: boolean;
}

/** A client of a user's own may show no headers. */
export function statedIn(response: OpenResponse | undefined): Stated {
  if (response === undefined) return nothing;
  const { headers } = response;
  return { costUsd: reportedCost(headers), rateLimit: rateLimitFrom(headers) };
}

const nothing: Stated = { costUsd: undefined, rateLimit: undefined };

/** An answer whose body is read here. */
type Answer = Pick<Opened, "isOfGlobalFetch"> & { readonly response: OpenResponse };

/** The body of an answer that was asked for as a whole. @throws what reading it throws. */
export async function receive(
  { data, response, isOfGlobalFetch }: Opened,
  secrets: readonly string[],
  guard: RequestGuard,
): Promise<Received | ModelFailure> {
  if (response !== undefined && data === undefined) return receiveBody({ response, isOfGlobalFetch }, secrets, guard);
  return { body: data, ...statedIn(response) };
}

/** The body of an answer that came as JSON. */
export async function receiveBody(
  answer: Answer,
  secrets: readonly string[],
  guard: RequestGuard,
): Promise<Received | ModelFailure> {
  const text = await textOf(answer, guard);
  if (text === undefined) {
    return invalidResponse(`The provider's answer is longer than ${longestBody} bytes.`, undefined);
  }
  const json = parseBody(text);
  if (json.ok) return { body: json.value, ...statedIn(answer.response) };
  return unreadableBody(text, json.error, secrets);
}

/** The pieces of a body. */
export interface Source {
  next(): Promise<{ readonly done?: boolean | undefined; readonly value?: Uint8Array | undefined }>;
  /** Ends the body, whatever is being read of it. */
  cancel(): void;
}

/** undefined: it cannot be read in pieces. It ends when the signal fires, also where its `fetch` does not look at that. */
export function sourceOf(body: unknown, signal: AbortSignal): Source | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const source = piecesOf(body);
  if (signal.aborted) source.cancel();
  else signal.addEventListener("abort", source.cancel, { once: true });
  return source;
}

/** The global fetch gives a web stream, others a stream of Node's. */
function piecesOf(body: object): Source {
  if ("getReader" in body) {
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    return { next: () => reader.read(), cancel: () => void reader.cancel().catch(() => {}) };
  }
  const stream = body as AsyncIterable<Uint8Array> & { destroy?(): unknown };
  const pieces = stream[Symbol.asyncIterator]();
  // A generator of the caller's own has no `destroy`, and may throw when it is ended.
  const end = async (): Promise<unknown> => (stream.destroy === undefined ? pieces.return?.() : stream.destroy());
  return { next: () => pieces.next() as ReturnType<Source["next"]>, cancel: () => void end().catch(() => {}) };
}

/** What is used of a `Response`. */
export interface ReadableAnswer {
  readonly headers: Headers;
  readonly type?: string | undefined;
  readonly body?: unknown;
  text(): Promise<string>;
  /**
   * Reads the text of an answer of our own `fetch`: at most so many bytes; a longer body gives undefined, and its rest
   * is not read.
   */
  textUpTo?(most: number): Promise<string | undefined>;
}

/**
 * The whole text of an answer; undefined: it is too long, and the rest of it is given up.
 * Rejects with a ConnectionError where it cannot be read.
 */
export function textOf(
  { response, isOfGlobalFetch = false }: Answer,
  guard: RequestGuard,
): Promise<string | undefined> {
  return fromConnection(() =>
    // Our own `fetch` looks at the signal.
    response.textUpTo === undefined
      ? Promise.race([
          isOfGlobalFetch && isKnownToFit(response) ? response.text() : textIn(response, guard.signal),
          guard.ended,
        ])
      : response.textUpTo(longestBody),
  );
}

async function textIn(response: ReadableAnswer, signal: AbortSignal): Promise<string | undefined> {
  const source = sourceOf(response.body, signal);
  // A stand-in for a response may have nothing but its text.
  if (source === undefined) return response.text();
  const decoder = new TextDecoder();
  let [text, length] = ["", 0];
  for (;;) {
    signal.throwIfAborted();
    const { done, value } = await source.next();
    if (done === true) return text + decoder.decode();
    length += value?.length ?? 0;
    if (length > longestBody) {
      source.cancel();
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
}

/**
 * Whether the announced length fits. The platform's `fetch` reads no body past that length, and its answers are of
 * another type than a `Response` that a program made. The length of a compressed body says nothing about its content.
 */
function isKnownToFit({ headers, type = "default" }: ReadableAnswer): boolean {
  const length = headers.get("content-length");
  if (length === null || type === "default") return false;
  return Number(length) <= longestBody && !headers.has("content-encoding");
}
