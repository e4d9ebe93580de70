import type { ModelRequest } from "@proviso/core";
import { OpenAI } from "openai";
import { directClient, type DirectClient } from "./direct.ts";
import type { CheckedOptions, OpenAIClient } from "./options.ts";
import type { StreamResponse } from "./receive-stream.ts";
import { chatFormat } from "./to-chat.ts";
import { responsesFormat } from "./to-responses.ts";

/** What requests go through. */
export interface Connection {
  readonly client: OpenAIClient;
  /** Only for a client that was made here. */
  readonly direct: DirectClient | undefined;
}

export function connect(options: CheckedOptions): Connection {
  if (options.client !== undefined) return { client: options.client, direct: undefined };
  const client = newClient(options);
  return { client, direct: directClient(client, options) };
}

function newClient(options: CheckedOptions): OpenAI {
  const { apiKey, baseURL, organization, headers, fetch } = options;
  return new OpenAI({
    apiKey,
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(organization === undefined ? {} : { organization }),
    ...(headers === undefined ? {} : { defaultHeaders: headers }),
    ...(fetch === undefined ? {} : { fetch: fetch as never }),
    // Ours alone, or retries would multiply.
    maxRetries: 0,
    logLevel: "off",
  });
}

/** Where requests go, for a message. */
export function addressOf({ api, baseURL = openAIAddress }: CheckedOptions, { client }: Connection): string {
  const { baseURL: own } = client as { readonly baseURL?: unknown };
  const { path } = api === "responses" ? responsesFormat : chatFormat;
  return `${(typeof own === "string" ? own : baseURL).replace(/\/+$/, "")}${path}`;
}
const openAIAddress = "https://api.openai.com/v1";

export type Sent =
  /** Nobody else looks at the answer. */
  | { readonly response: Promise<StreamResponse> }
  /** The SDK's `APIPromise`, or what a stand-in for the client returned. */
  | { readonly response?: undefined; readonly answer: unknown };

export function send(options: CheckedOptions, to: Connection, request: ModelRequest, signal: AbortSignal): Sent {
  const { api, timeoutMs } = options;
  const { client, direct } = to;
  const format = api === "responses" ? responsesFormat : chatFormat;
  const untouched = isUntouched(client) ? client : undefined;
  if (untouched !== undefined && direct?.isAvailable() === true) {
    return { response: direct.post(format.path, format.json(options, request), signal) };
  }
  const perRequest = { maxRetries: 0, signal, ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }) };
  if (untouched !== undefined) {
    const answer = untouched.post(format.path, {
      ...perRequest,
      body: format.json(options, request),
      headers: { "content-type": "application/json" },
      stream: request.onDelta !== undefined,
    });
    return { response: answer.asResponse() };
  }
  const resource = api === "responses" ? client.responses : client.chat.completions;
  return { answer: resource.create(format.object(options, request) as never, perRequest as never) };
}

/**
 * The SDK's own client as it was made: it sends JSON that is already written. Everything else gets its `create`
 * called with an object: a stand-in, a subclass that looks into bodies (Azure), a client or SDK that somebody put a
 * wrapper around, to trace it, say.
 */
function isUntouched(client: OpenAIClient): client is OpenAI {
  if (!(client instanceof OpenAI) || Object.getPrototypeOf(client) !== OpenAI.prototype) return false;
  return (
    client.post === OpenAI.prototype.post &&
    isOwn(client.responses.create, OpenAI.Responses.prototype.create) &&
    isOwn(client.chat.completions.create, OpenAI.Chat.Completions.prototype.create)
  );
}

/** Wrappers on the prototype itself mark what they put there. */
function isOwn(method: unknown, original: unknown): boolean {
  return method === original && !Object.hasOwn(method as object, "__wrapped");
}
