import type { ModelRequest } from "@proviso/core";
import { OpenAI } from "openai";
import type { CheckedOptions, OpenAIClient } from "./options.ts";
import { chatFormat } from "./to-chat.ts";
import { responsesFormat } from "./to-responses.ts";

export function newClient(options: CheckedOptions): OpenAIClient {
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

export interface Sent {
  /** The SDK's `APIPromise`, or what a stand-in for the client returned. */
  readonly answer: unknown;
  /** Nobody else looks at the answer. */
  readonly direct: boolean;
}

export function send(options: CheckedOptions, client: OpenAIClient, request: ModelRequest, signal: AbortSignal): Sent {
  const { api, timeoutMs } = options;
  const perRequest = { maxRetries: 0, signal, ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }) };
  const format = api === "responses" ? responsesFormat : chatFormat;
  if (isUntouched(client)) {
    const answer = client.post(format.path, {
      ...perRequest,
      body: format.json(options, request),
      headers: { "content-type": "application/json" },
      stream: request.onDelta !== undefined,
    });
    return { answer, direct: true };
  }
  const resource = api === "responses" ? client.responses : client.chat.completions;
  return { answer: resource.create(format.object(options, request) as never, perRequest as never), direct: false };
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
