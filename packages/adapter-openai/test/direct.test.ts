import type { ModelRequest } from "@proviso/core";
import { OpenAI } from "openai";
import { expect, test, vi } from "vitest";
import { openaiModel } from "../src/index.ts";
import type { LeanFetch } from "../src/fetch.ts";
import { fixture } from "./support/fixture.ts";

const signal = new AbortController().signal;
const request: ModelRequest = {
  messages: [{ role: "user", text: "Hi." }],
  tools: [],
  toolChoice: undefined,
  output: undefined,
  signal,
};
const made = {
  apiKey: "sk-test-0123456789",
  baseURL: "http://example.test/v1/",
  organization: "org",
  headers: { "x-extra": "1", "User-Agent": "mine" },
  timeoutMs: 5_000,
};

function recording(answer: () => Response | Promise<Response>) {
  const sent: Record<string, unknown>[] = [];
  const fetch = (async (input: string, init: RequestInit) => {
    const { method, headers, body } = init;
    sent.push({ url: String(input), method, headers: Object.fromEntries(new Headers(headers)), body });
    (headers as Headers).set("x-changed", "by the fetch");
    return answer();
  }) as unknown as LeanFetch;
  return { fetch, sent };
}

/** Sent by the adapter itself, and by the SDK for it. */
async function bothWays(api: "chat" | "responses", answer: () => Response | Promise<Response>, stream = false) {
  const asked = stream ? { ...request, onDelta: () => {} } : request;
  const direct = recording(answer);
  const model = openaiModel({ model: "m", api, ...made, fetch: direct.fetch });
  const bySdk = recording(answer);
  const { headers: defaultHeaders, ...rest } = made;
  const client = new OpenAI({ ...rest, defaultHeaders, maxRetries: 0, logLevel: "off", fetch: bySdk.fetch as never });
  const other = openaiModel({ model: "m", api, client, timeoutMs: made.timeoutMs });
  const answers = [await model.generate(asked), await model.generate(asked), await other.generate(asked)] as const;
  return { answers, direct: direct.sent, bySdk: bySdk.sent };
}

test.each([
  ["chat", "chat-text", false],
  ["chat", "chat-text", true],
  ["responses", "responses-text", false],
] as const)("OAI-14 a request of %s is the one that the SDK would send", async (api, name, stream) => {
  const { answers, direct, bySdk } = await bothWays(api, () => Response.json(fixture(name)), stream);
  expect(direct).toEqual([bySdk[0], bySdk[0]]);
  expect(direct[0]).toMatchObject({ headers: { "user-agent": "mine", "x-stainless-timeout": "5", "x-extra": "1" } });
  expect(answers[0]).toEqual(answers[2]);
  expect(answers[0].failure).toBeUndefined();
});

const refused = (): never => {
  throw new TypeError("fetch failed", { cause: Object.assign(new Error("no"), { code: "ECONNREFUSED" }) });
};
const error = { message: "No.", code: "c", type: "t" };
test.each([
  ["an error object", () => Response.json({ error }, { status: 400 })],
  ["an error without its envelope", () => Response.json(error, { status: 404 })],
  ["an error whose envelope is null", () => Response.json({ error: null, detail: "x" }, { status: 422 })],
  ["text", () => new Response("busy", { status: 503 })],
  ["nothing", () => new Response("", { status: 500 })],
  ["null", () => Response.json(null, { status: 500 })],
  ["a wait", () => Response.json({ error }, { status: 429, headers: { "retry-after": "3" } })],
  ["no connection", refused],
  ["words for a timeout", () => Promise.reject(new TypeError("error sending request: timed out"))],
  ["a failure without a code", () => Promise.reject(new TypeError("fetch failed"))],
  ["a string thrown", () => Promise.reject("no" as never)],
] as const)("OAI-14 a refusal is the failure that the SDK would make of it: %s", async (_name, answer) => {
  const { answers } = await bothWays("chat", answer as () => Response);
  const [one, , other] = answers;
  expect(one.failure).toBeDefined();
  const { cause: ours, ...told } = one as unknown as Record<string, Error>;
  const { cause: theirs, ...expected } = other as unknown as Record<string, Error>;
  expect(told).toEqual(expected);
  expect(ours?.constructor).toBe(theirs?.constructor);
  expect(ours?.message).toBe(theirs?.message);
});

test("OAI-14 an SDK that somebody has changed since is asked to send", async () => {
  const makeRequest = vi.spyOn(OpenAI.prototype as unknown as { makeRequest(): unknown }, "makeRequest");
  const { fetch, sent } = recording(() => Response.json(fixture("chat-text")));
  const model = openaiModel({ model: "m", api: "chat", ...made, fetch });
  expect((await model.generate(request)).failure).toBeUndefined();
  expect(makeRequest).toHaveBeenCalledTimes(1);
  makeRequest.mockRestore();
  expect((await model.generate(request)).failure).toBeUndefined();
  expect(sent).toHaveLength(2);
});
