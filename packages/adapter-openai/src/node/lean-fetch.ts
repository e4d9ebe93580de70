// 1. A connection is kept for the next request; an idle one keeps no process alive for longer than its timeout.
// 2. An abort ends the request and its body, and leaves no listener on the signal.
import { Agent, request, type Dispatcher } from "undici";
import type { LeanFetch, LeanResponse } from "../fetch.ts";

/** What `leanFetch` takes. */
export interface LeanFetchOptions {
  /** Connections to one server at a time. Default: as many as there are requests. */
  readonly connections?: number | undefined;
}

/**
 * A `fetch` over undici's `request`, for `openai({ fetch: leanFetch() })`: a third of what the global one costs, above
 * all with many requests at once. It does what the SDK needs and no more: no redirects, no compression, no cookies.
 */
export function leanFetch({ connections }: LeanFetchOptions = {}): LeanFetch {
  const dispatcher = new Agent({
    ...(connections === undefined ? {} : { connections }),
    // The adapter has limits of its own.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return async (input, { method = "GET", headers, body = null, signal } = {}) => {
    const url = typeof input === "string" ? input : input instanceof URL ? input.href : input.url;
    const answer = await request(url, {
      dispatcher,
      method: method as Dispatcher.HttpMethod,
      headers: headersOf(headers),
      body,
      ...(signal === null || signal === undefined ? {} : { signal }),
    });
    // Whoever reads the body is told of its end; when nobody does, nobody has to be.
    answer.body.on("error", () => {});
    return responseOf(answer, url);
  };
}

function headersOf(headers: unknown): Record<string, string> {
  if (headers instanceof Headers || Array.isArray(headers))
    return Object.fromEntries(headers as Iterable<[string, string]>);
  return { ...(headers as Record<string, string> | undefined) };
}

function responseOf({ statusCode, headers: given, body }: Dispatcher.ResponseData, url: string): LeanResponse {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given)) {
    for (const one of [value].flat()) if (one !== undefined) headers.append(name, one);
  }
  return {
    status: statusCode,
    statusText: "",
    ok: statusCode >= 200 && statusCode < 300,
    url,
    headers,
    // The SDK ends what it does not read.
    body: Object.assign(body, { cancel: async () => void body.destroy() }),
    text: () => body.text(),
    json: () => body.json(),
  };
}
