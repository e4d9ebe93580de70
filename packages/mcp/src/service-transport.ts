// 1. A request is in `#unanswered` from its sending until its answer has come, or cannot come any more.
// 2. `send` of a request fails when its answer cannot come any more: the SDK itself does not report that. A stream that
//    can be taken up again where it broke (Last-Event-ID) has not ended before the SDK has tried that in vain.
import type {
  JSONRPCMessage,
  MessageExtraInfo,
  RequestId,
  StreamableHTTPClientTransport,
  Transport,
} from "@modelcontextprotocol/client";
import { isNonNullObject, messageOf, withoutExcerpts } from "@proviso/core/internal";
import { isRecord, parseJson } from "@proviso/core/provider";
import { boundedFetch, type AnswerStreams, type ConnectionEvents } from "./bounded-fetch.ts";
import type { McpServerSpec } from "./options.ts";
import type { Sdk } from "./sdk.ts";

type SendOptions = NonNullable<Parameters<StreamableHTTPClientTransport["send"]>[1]>;
type Service = Extract<McpServerSpec, { readonly url: string }>;

/** Streamable HTTP, with a loss that reaches the requests under way. */
export class ServiceTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  readonly hasPerRequestStream = true;
  readonly #sdk: Sdk;
  readonly #http: StreamableHTTPClientTransport;
  readonly #events: ConnectionEvents;
  readonly #failures = new WeakSet<object>();
  readonly #unanswered = new Map<RequestId, () => void>();
  /** Requests whose answer is a stream that has begun. */
  readonly #streaming = new Set<RequestId>();
  /** Streams beside the answers that are open, or asked for. */
  #streamsBeside = 0;

  constructor(sdk: Sdk, { url, headers, auth, fetch: given }: Service, events: ConnectionEvents) {
    this.#sdk = sdk;
    this.#events = events;
    const failed = (error: unknown): void => {
      if (isNonNullObject(error)) this.#failures.add(error);
      events.failed(error);
    };
    this.#http = new sdk.StreamableHTTPClientTransport(new URL(url), {
      ...(headers === undefined ? {} : { requestInit: { headers: { ...headers } } }),
      ...(auth === undefined ? {} : { authProvider: auth as never }),
      fetch: boundedFetch(given, { ...events, failed }, this.#streams()),
    });
  }

  #streams(): AnswerStreams {
    return {
      answersBy: (body) => {
        const request = typeof body === "string" ? parseJson(body) : undefined;
        if (request?.ok === true && isRecord(request.value)) this.#streaming.add(request.value["id"] as RequestId);
      },
      asked: () => void this.#streamsBeside++,
      gone: () => void this.#streamsBeside--,
    };
  }

  get sessionId(): string | undefined {
    return this.#http.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#http.setProtocolVersion(version);
  }

  start(): Promise<void> {
    this.#http.onclose = () => this.onclose?.();
    this.#http.onerror = (error) => this.onerror?.(unquoted(error));
    this.#http.onmessage = (message) => {
      if (!("method" in message) && message.id !== undefined) this.#settle(message.id)?.();
      this.onmessage?.(message);
    };
    return this.#http.start();
  }

  async send(message: JSONRPCMessage, options: SendOptions = {}): Promise<void> {
    try {
      // The SDK waits itself for the answer to its first request, for as long as an older server may be silent.
      if (!("method" in message) || !("id" in message) || message.method === "server/discover")
        await this.#http.send(message, options);
      else await this.#ask(message.id, message.method, options, (more) => this.#http.send(message, more));
    } catch (error) {
      const isLoss = isNonNullObject(error) && this.#failures.has(error);
      throw isLoss ? this.#lost(messageOf(error), error) : unquoted(error);
    }
  }

  /** Ends when the answer has come. */
  async #ask(
    id: RequestId,
    method: string,
    options: SendOptions,
    send: (options: SendOptions) => Promise<void>,
  ): Promise<void> {
    const { promise: answered, resolve, reject } = Promise.withResolvers<void>();
    answered.catch(() => {});
    this.#unanswered.set(id, resolve);
    const fail = (why: string): void => {
      if (this.#settle(id) === undefined) return;
      const error = this.#lost(why, undefined);
      this.#events.failed(error);
      reject(error);
    };
    const ended = (): void => {
      options.onRequestStreamEnd?.();
      fail("Its stream ended without an answer.");
    };
    options.requestSignal?.addEventListener("abort", () => this.#settle(id)?.(), { once: true });
    try {
      await send({ ...options, onRequestStreamEnd: ended });
      // What came was no answer to it, and no stream is there that could bring one.
      if (!this.#streaming.has(id) && this.#streamsBeside === 0) fail("It was accepted without an answer.");
      // A subscription is answered when it is refused, and otherwise when nothing is reported any more.
      const isOpen = method === "subscriptions/listen" && this.#unanswered.has(id);
      if (isOpen) this.#events.reportsBegin();
      await answered.finally(() => isOpen && this.#events.reportsEnd());
    } finally {
      this.#unanswered.delete(id);
      this.#streaming.delete(id);
    }
  }

  /** What ends the waiting for the answer; undefined: it has ended. */
  #settle(id: RequestId): (() => void) | undefined {
    const settle = this.#unanswered.get(id);
    this.#unanswered.delete(id);
    return settle;
  }

  #lost(why: string, cause: unknown): Error {
    return new this.#sdk.SdkError(this.#sdk.SdkErrorCode.ConnectionClosed, why, undefined, { cause });
  }

  terminateSession(): Promise<void> {
    return this.#http.terminateSession();
  }

  close(): Promise<void> {
    return this.#http.close();
  }
}

/** The error of an answer that is no JSON, without the excerpt that the SDK passes on: it may end inside a secret. */
function unquoted<E>(error: E): E {
  if (!(error instanceof Error)) return error;
  const { message, stack = "" } = error;
  if (withoutExcerpts(message) === message) return error;
  return Object.assign(error, { message: withoutExcerpts(message), stack: withoutExcerpts(stack) });
}
