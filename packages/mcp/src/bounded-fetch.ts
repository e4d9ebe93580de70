// What a service answers to one request is bounded, and an answer that says that its session is over is noticed.
import type { McpServerSpec } from "./options.ts";

type Fetch = NonNullable<Extract<McpServerSpec, { readonly url: string }>["fetch"]>;

/** Bytes of an answer to one request: 64 MiB. */
const longestAnswer = 64 * 1024 * 1024;

/**
 * A `fetch` for the transport of a service. `sessionEnded` is called where the service does not know the session any more,
 * which it says by 404 (Model Context Protocol, revision 2025-06-18, Streamable HTTP, session management).
 */
export function boundedFetch(given: Fetch | undefined, sessionEnded: () => void): Fetch {
  const send = given ?? fetch;
  return async (url, init) => {
    const response = await send(url, init);
    if (response.status === 404 && new Headers(init?.headers).has("mcp-session-id")) sessionEnded();
    const { body } = response;
    // The stream of a GET has no end that is known: it carries what the service sends beside its answers.
    if (body === null || init?.method !== "POST") return response;
    const { status, statusText, headers } = response;
    return new Response(body.pipeThrough(atMost(longestAnswer)), { status, statusText, headers });
  };
}

function atMost(most: number): TransformStream<Uint8Array, Uint8Array> {
  let received = 0;
  return new TransformStream({
    transform(piece, controller) {
      received += piece.byteLength;
      if (received > most) throw new RangeError(`The answer is longer than ${most} bytes.`);
      controller.enqueue(piece);
    },
  });
}
