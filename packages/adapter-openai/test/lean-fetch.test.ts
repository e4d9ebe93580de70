import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { leanFetch } from "@proviso/adapter-openai/node";
import { expect, test } from "vitest";

async function serving(listener: Parameters<typeof createServer>[1]) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1/x?y=1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const large = "ä".repeat(300_000);

test("OAI-15 a body is read as text, as JSON or as a stream, at once or later", async () => {
  await using server = await serving((request, response) => {
    response.writeHead(request.method === "POST" ? 201 : 404, { "x-url": request.url, "set-cookie": ["a=1", "b=2"] });
    response.end(JSON.stringify(large));
  });
  const fetch = leanFetch();
  const text = await fetch(server.url, { method: "POST", body: "{}" });
  expect(await text.text()).toBe(JSON.stringify(large));
  expect([text.status, text.ok, text.headers.get("x-url")]).toEqual([201, true, "/v1/x?y=1"]);
  expect(text.headers.getSetCookie()).toEqual(["a=1", "b=2"]);

  const json = await fetch(new URL(server.url));
  // The server is kept waiting meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await json.json()).toBe(large);
  expect(json.ok).toBe(false);

  const streamed = await fetch(server.url, { headers: [["x-a", "1"]] });
  await new Promise((resolve) => setTimeout(resolve, 50));
  const pieces: Buffer[] = [];
  for await (const piece of streamed.body as AsyncIterable<Buffer>) pieces.push(piece);
  expect(Buffer.concat(pieces).toString()).toBe(JSON.stringify(large));
});

test("OAI-15 an abort ends a request that waits for its connection, for its answer, and for its body", async () => {
  await using server = await serving((request, response) => {
    if (request.method === "POST") response.writeHead(200).write("{");
  });
  const fetch = leanFetch({ connections: 1 });
  const reason = new Error("enough");
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];

  await expect(fetch(server.url, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  const answer = await fetch(server.url, { method: "POST", body: "{}", signal: first.signal });
  const reading = answer.text();
  const queued = fetch(server.url, { signal: second.signal });
  second.abort(reason);
  await expect(queued).rejects.toBe(reason);
  first.abort(reason);
  await expect(reading).rejects.toBe(reason);
  const unanswered = fetch(server.url, { signal: third.signal });
  setTimeout(() => third.abort(reason), 50);
  await expect(unanswered).rejects.toBe(reason);
});
