import { openai } from "@proviso/adapter-openai";
import { expect, test } from "vitest";

test.each(["responses", "chat"] as const)(
  "OAI-9 LIM-9 a stream of %s without end is read up to 256 MiB, and not asked for again",
  async (api) => {
    let [sent, asked, isCancelled] = [0, 0, false];
    const comment = new TextEncoder().encode(`: ${"x".repeat(1024 * 1024 - 4)}\n\n`);
    const fetch = async (): Promise<Response> => {
      asked += 1;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          sent += 1;
          controller.enqueue(comment);
        },
        cancel: () => void (isCancelled = true),
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    };
    const adapter = openai({ model: "m", apiKey: "sk-1234567890", api, fetch });
    await expect(adapter.stream("Hello.").response).rejects.toMatchObject({
      code: "provider",
      reason: "invalid_response",
      message: expect.stringContaining("is longer than 268435456 bytes") as string,
    });
    expect([asked, isCancelled]).toEqual([1, true]);
    expect(sent).toBeGreaterThan(256);
    // Pieces that were on their way when the bound was met.
    expect(sent).toBeLessThan(256 + 16);
  },
);
