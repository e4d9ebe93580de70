import { definePrompt, isEvaluationFailure, type EvaluationFailure } from "@proviso/core";
import { openai } from "@proviso/adapter-openai";
import { leanFetch } from "@proviso/adapter-openai/node";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import type { LeanFetch } from "../src/fetch.ts";

const prompt = definePrompt({ key: "ask", text: "Ask." }).bind();
const megabyte = new Uint8Array(1024 * 1024).fill(32);
/** Far more than is read of any body, so that a reader without a bound fails the test and not the machine. */
const most = 200;

/** A service that says and says, and how much of it was taken. */
function endless(status: number, headers: Readonly<Record<string, string>>) {
  const told = { megabytes: 0, isCancelled: false };
  const fetch = async (): Promise<Response> => {
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (told.megabytes++ < most) controller.enqueue(megabyte);
          else controller.close();
        },
        cancel() {
          told.isCancelled = true;
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(body, { status, headers: { "content-type": "application/json", ...headers } });
  };
  return { told, fetch };
}

async function failureOf(fetch: LeanFetch, how: "evaluate" | "stream", baseURL?: string): Promise<EvaluationFailure> {
  const more = baseURL === undefined ? {} : { baseURL };
  const adapter = openai({ model: "m", apiKey: "sk-long-bodies", fetch, throttle: { maxAttempts: 1 }, ...more });
  const evaluated = how === "evaluate" ? adapter.evaluate(prompt) : adapter.stream(prompt).response;
  const error: unknown = await evaluated.catch((reason: unknown) => reason);
  if (isEvaluationFailure(error)) return error;
  throw new Error("It did not fail.", { cause: error });
}

test.each(["evaluate", "stream"] as const)(
  "OAI-9 an answer without an end is refused when 64 MiB of it were read: %s",
  async (how) => {
    const { told, fetch } = endless(200, {});
    const error = await failureOf(fetch, how);
    expect(error).toMatchObject({ code: "provider", reason: "invalid_response", phase: "response" });
    expect(error.message).toBe("The provider's answer is longer than 67108864 bytes.");
    expect([told.megabytes, told.isCancelled]).toEqual([65, true]);
  },
);

test("OAI-9 the announced length of a compressed answer does not bound the answer", async () => {
  const { told, fetch } = endless(200, { "content-length": "1000", "content-encoding": "gzip" });
  expect(await failureOf(fetch, "evaluate")).toMatchObject({ reason: "invalid_response" });
  expect(told.megabytes).toBe(65);
});

test("OAI-9 a stand-in for fetch may send more than its headers say", async () => {
  const { told, fetch } = endless(200, { "content-length": "10" });
  expect(await failureOf(fetch, "evaluate")).toMatchObject({ reason: "invalid_response" });
  expect(told.megabytes).toBe(65);
});

test("OAI-9 a refusal without an end is still the refusal that its status says", async () => {
  const { told, fetch } = endless(401, {});
  expect(await failureOf(fetch, "evaluate")).toMatchObject({ code: "provider", reason: "api_key", status: 401 });
  expect([told.megabytes, told.isCancelled]).toEqual([65, true]);
});

test.each([200, 401])(
  "OAI-9 leanFetch reads no more of an answer either, and gives its connection up: status %i",
  async (status) => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    let megabytes = 0;
    const server = createServer((request, response) => {
      request.resume();
      response.on("close", resolve);
      response.writeHead(status, { "content-type": "application/json" });
      const more = (): void => {
        while (!response.destroyed && megabytes++ < most) if (!response.write(megabyte)) return;
        response.end();
      };
      response.on("drain", more);
      more();
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const error = await failureOf(leanFetch(), "evaluate", `http://127.0.0.1:${port}/v1`);
    expect(error).toMatchObject(status === 200 ? { reason: "invalid_response" } : { reason: "api_key", status });
    await closed;
    expect(megabytes).toBeLessThan(most);
  },
);
