import { openai } from "@proviso/adapter-openai";
import { definePrompt, defineTool, ProviderError } from "@proviso/core";
import { failureOf } from "@proviso/fault-matrix/requests";
import {
  brokenAnswers,
  brokenBelowPackages,
  chunk,
  completion,
  fine,
  streaming,
} from "@proviso/fault-matrix/errors-in-answers";
import { answering, startServer } from "@proviso/fault-matrix/loopback-server";
import { openaiModel } from "@proviso/adapter-openai";
import { expect, test } from "vitest";
import { z } from "zod";

const apiKey = "sk-test-secret-0123456789";

test.each([...brokenAnswers, ...brokenBelowPackages])(
  "OAI-10 an error with a status in it, %s of status 200, is asked again",
  async (_, way, respond) => {
    await using server = await startServer(respond, fine[way]);
    const adapter = openai({ model: "m", apiKey, baseURL: server.baseURL, throttle: { baseDelayMs: 1 } });
    const response = way === "stream" ? await adapter.stream("Hi.").response : await adapter.evaluate("Hi.");
    expect(response.output).toBe("Fine.");
    expect(server.requests).toHaveLength(2);
  },
);

test.each([
  [
    { message: "No.", code: 400 },
    { failure: "provider", reason: "bad_request", status: 400 },
  ],
  [
    { message: "No.", code: 401 },
    { failure: "provider", reason: "api_key", status: 401 },
  ],
  [
    { message: "No.", code: "429" },
    { failure: "throttle", kind: "rate_limit", status: 429 },
  ],
  [
    { message: "No.", code: 503, type: "insufficient_quota" },
    { failure: "throttle", kind: "quota_exhausted" },
  ],
  [
    { message: "No.", type: "server_error" },
    { failure: "throttle", kind: "server_error" },
  ],
  [
    { message: "No.", code: 12 },
    { failure: "provider", reason: "unknown" },
  ],
  [{ message: "No." }, { failure: "provider", reason: "unknown" }],
])("OAI-10 the error %o of an answer is classified by its word, else by its status", async (given, expected) => {
  for (const api of ["chat", "responses"] as const) {
    await using server = await startServer(answering(200, { error: given }));
    const failure = await failureOf(openaiModel({ model: "m", apiKey, api, baseURL: server.baseURL }));
    expect(failure).toMatchObject({ ...expected, message: "No." });
  }
});

test("OAI-10 an answer that breaks off without an error object says so, and is not asked again", async () => {
  await using server = await startServer(answering(200, completion({ content: "Hal" }, "error")));
  const asked = openai({ model: "m", apiKey, baseURL: server.baseURL }).evaluate("Hi.");
  const failed = await asked.catch((caught: unknown) => caught);
  expect(failed).toBeInstanceOf(ProviderError);
  expect(failed).toMatchObject({ reason: "unknown", message: expect.stringContaining("failed while it answered") });
  expect(server.requests).toHaveLength(1);
});

test.each([{}, { code: null, message: "" }])("OAI-10 %o in a choice says of no error", async (error) => {
  const withError = (choice: object): object => ({ ...choice, error });
  const inAnswer = completion({ content: "Whole." }, "stop") as { choices: object[] };
  const inChunk = chunk({ content: "Who" }) as { choices: object[] };
  await using server = await startServer(
    answering(200, { ...inAnswer, choices: inAnswer.choices.map(withError) }),
    streaming({ ...inChunk, choices: inChunk.choices.map(withError) }, chunk({ content: "le." }), chunk({}, "stop")),
  );
  const adapter = openai({ model: "m", apiKey, baseURL: server.baseURL });
  expect((await adapter.evaluate("Hi.")).output).toBe("Whole.");
  expect((await adapter.stream("Hi.").response).output).toBe("Whole.");
});

const piece = (id: string | undefined, index: number | undefined, fn: object): object =>
  chunk({ tool_calls: [{ ...(id === undefined ? {} : { id }), index, type: "function", function: fn }] });

test.each([
  [
    "of one index, each whole",
    [piece("x", 0, { name: "add", arguments: '{"n":1}' }), piece("y", 0, { name: "add", arguments: '{"n":2}' })],
  ],
  [
    "of one index, each in pieces",
    [
      piece("x", 0, { name: "add", arguments: '{"n"' }),
      piece(undefined, 0, { arguments: ":1}" }),
      piece("y", 0, { name: "add", arguments: '{"n"' }),
      piece(undefined, 0, { arguments: ":2}" }),
    ],
  ],
  [
    "without an index, their ids in each piece",
    [
      piece("x", undefined, { name: "add", arguments: '{"n"' }),
      piece("x", undefined, { arguments: ":1}" }),
      piece("y", undefined, { name: "add", arguments: '{"n":2}' }),
    ],
  ],
  [
    "of two indices, a new id in each piece",
    [
      piece("x", 0, { name: "add", arguments: '{"n"' }),
      piece("y", 1, { name: "add", arguments: '{"n"' }),
      piece("x2", 0, { arguments: ":1}" }),
      piece("y2", 1, { arguments: ":2}" }),
    ],
  ],
])("OAI-12 two streamed calls %s are two calls", async (_, pieces) => {
  await using server = await startServer(
    streaming(...pieces, chunk({}, "tool_calls")),
    streaming(chunk({ role: "assistant", content: "Added." }), chunk({}, "stop")),
  );
  const added: number[] = [];
  const add = defineTool({
    name: "add",
    description: "Adds.",
    input: z.object({ n: z.number() }),
    execute: ({ n }) => void added.push(n),
  });
  const prompt = definePrompt({ key: "adding", sections: [{ key: "t", role: "user", text: "Add.", tools: [add] }] });
  const adapter = openai({ model: "m", apiKey, baseURL: server.baseURL });
  const { toolResults } = await adapter.stream(prompt.bind()).response;
  expect(toolResults.map(({ callId }) => callId)).toEqual(["x", "y"]);
  expect(added).toEqual([1, 2]);
});

test.each([
  [{ error: "The upstream broke." }, { reason: "unknown" }, 1],
  [{ error: "The upstream broke.", code: 429 }, { kind: "rate_limit" }, 2],
  [{ object: "error", message: "The upstream broke.", code: 500 }, { kind: "server_error" }, 2],
] as const)(
  "OAI-10 the error %o of status 200 is the same streamed, with its text",
  async (given, expected, requests) => {
    for (const [way, respond] of [
      ["json", answering(200, given)],
      ["stream", streaming(given)],
    ] as const) {
      await using server = await startServer(respond);
      const throttle = { maxAttempts: 2, baseDelayMs: 1 };
      const adapter = openai({ model: "m", apiKey, api: "chat", baseURL: server.baseURL, throttle });
      const asked = way === "stream" ? adapter.stream("Hi.").response : adapter.evaluate("Hi.");
      const failed = await asked.catch((caught: unknown) => caught);
      expect(failed).toMatchObject({ ...expected, message: expect.stringContaining("The upstream broke.") });
      expect(server.requests).toHaveLength(requests);
    }
  },
);
