import { openai } from "@proviso/adapter-openai";
import { ThrottleError } from "@proviso/core";
import { expect, test } from "vitest";

const encoder = new TextEncoder();

/** An answer whose body breaks, with what a host says of that. */
function broken(begin: string, error: unknown, type: string): Response {
  let isBegun = false;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (isBegun) controller.error(error);
      else controller.enqueue(encoder.encode(begin));
      isBegun = true;
    },
  });
  return new Response(body, { headers: { "content-type": type } });
}

const words = [
  "network error",
  "error reading a body from connection",
  "Network connection lost.",
  "what no one knows",
];

test.each(words)(
  "THR-1 OAI-10 a body that breaks with %j is the connection's, whatever the host says",
  async (text) => {
    const answers: Response[] = [];
    const adapter = openai({
      model: "gpt-5.4",
      apiKey: "key",
      fetch: async () => answers.shift() as Response,
      throttle: { maxAttempts: 1 },
    });
    answers.push(broken('{"id":"r', new TypeError(text), "application/json"));
    const asked = adapter.evaluate("Say yes.");
    await expect(asked).rejects.toBeInstanceOf(ThrottleError);
    await expect(asked).rejects.toMatchObject({ kind: "unknown", cause: { message: text } });
    answers.push(broken('event: ping\ndata: {"type":"ping"}\n\n', new TypeError(text), "text/event-stream"));
    const streamed = adapter.stream("Say yes.");
    await expect(streamed.response).rejects.toMatchObject({
      code: "throttled",
      kind: "unknown",
      cause: { message: text },
    });
  },
);
