// What a service answers to one request is bounded, and what shows that the connection is lost is noticed.
import { isRecord, parseJson } from "@proviso/core/provider";
import type { McpServerSpec } from "./options.ts";

type Fetch = NonNullable<Extract<McpServerSpec, { readonly url: string }>["fetch"]>;

/** Bytes of an answer to one request: 64 MiB. */
const longestAnswer = 64 * 1024 * 1024;

/** What a gateway answers that does not reach the service. */
const gatewayStatuses: readonly number[] = [502, 503, 504];

/** What happens to a connection, as its requests and answers show it. */
export interface ConnectionEvents {
  /** The service does not know the session any more. */
  sessionEnded(): void;
  /** A request, or the answer to it, did not arrive. */
  failed(error: unknown): void;
  /** The service may report changes from now on. */
  reportsBegin(): void;
  /** What reports changes has ended. */
  reportsEnd(): void;
}

/** The streams of a service that may bring an answer. */
export interface AnswerStreams {
  /** The answer to this request is a stream. */
  answersBy(body: unknown): void;
  /** A stream beside the answers was asked for. The service may open it with the first message that it has. */
  asked(): void;
  /** A stream that was asked for is not there: refused, or ended. */
  gone(): void;
}

/** A `fetch` for the transport of a service. */
export function boundedFetch(given: Fetch | undefined, events: ConnectionEvents, streams: AnswerStreams): Fetch {
  const send = given ?? fetch;
  return async (url, init) => {
    const sent = new Headers(init?.headers);
    // Requests of authorization go elsewhere.
    if (!(sent.get("accept") ?? "").includes("text/event-stream")) return send(url, init);
    const failed = (error: unknown): void => {
      if (init?.signal?.aborted !== true) events.failed(error);
    };
    const isBeside = init?.method === "GET";
    if (isBeside) streams.asked();
    const response = await Promise.resolve(send(url, init)).catch((error: unknown) => {
      if (isBeside) streams.gone();
      failed(error);
      throw error;
    });
    if (gatewayStatuses.includes(response.status)) events.failed(undefined);
    const isReports = isBeside && response.ok && response.body !== null;
    if (isReports) events.reportsBegin();
    else if (isBeside) streams.gone();
    else if (/^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "")) streams.answersBy(init?.body);
    if (response.body === null) return response;
    // What a service sends beside its answers has no end that is known.
    const body = watched(response.body, isReports ? Infinity : longestAnswer, {
      failed,
      ended() {
        if (!isReports) return;
        streams.gone();
        events.reportsEnd();
      },
    });
    const { status, statusText, headers } = response;
    const answer = (read: ReadableStream<Uint8Array> | string): Response =>
      new Response(read, { status, statusText, headers });
    const mayHaveEnded = init?.method === "POST" && sent.has("mcp-session-id") && (status === 400 || status === 404);
    if (!mayHaveEnded) return answer(body);
    const text = await answer(body).text();
    if (status === 404 || saysThatSessionEnded(text, init.body)) events.sessionEnded();
    return answer(text);
  };
}

/** What servers write in an answer of 400 about a session that they do not know, or miss. */
const endOfSession =
  /^(bad request: )?((no valid|invalid|missing|invalid or missing) session id|session not found|mcp-session-id header is required|server not initialized)\b/i;

/** The code of the protocol's own SDK for "Session not found". */
const sessionNotFound = -32_001;

/** The protocol wants 404 (revision 2025-06-18, Streamable HTTP, session management); many servers answer 400. */
function saysThatSessionEnded(text: string, request: unknown): boolean {
  const answer = jsonOf(text);
  if (!isRecord(answer)) return endOfSession.test(text.trim());
  const { id, error } = answer;
  const asked = jsonOf(request);
  const isOfTheCall = isRecord(asked) && asked["id"] !== undefined && asked["id"] === id;
  if (isOfTheCall) return false;
  const { code, message } = isRecord(error) ? error : { code: undefined, message: error ?? answer["message"] };
  return code === sessionNotFound || (typeof message === "string" && endOfSession.test(message.trim()));
}

function jsonOf(text: unknown): unknown {
  const read = typeof text === "string" ? parseJson(text) : undefined;
  return read?.ok === true ? read.value : undefined;
}

/** A copy of `body`, up to `most` bytes. */
function watched(
  body: ReadableStream<Uint8Array>,
  most: number,
  { failed, ended }: { readonly failed: (error: unknown) => void; readonly ended: () => void },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let received = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        ended();
        failed(error);
        throw error;
      });
      if (done) {
        ended();
        controller.close();
        return;
      }
      received += value.byteLength;
      if (received > most) {
        const error = new RangeError(`The answer is longer than ${most} bytes.`);
        reader.cancel(error).catch(() => {});
        throw error;
      }
      controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
