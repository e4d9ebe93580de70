import { DefinitionError, type ModelRequest } from "@proviso/core";
import { checkOptions } from "@proviso/runtime";
import { OpenAI } from "openai";
import { afterEach, expect, test, vi } from "vitest";
import { openai, openaiModel, type LeanFetch } from "../src/index.ts";
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

interface Sent {
  readonly url: string;
  readonly method: string | undefined;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

function recording(answer: () => Response | Promise<Response> = () => Response.json(fixture("chat-text"))) {
  const sent: Sent[] = [];
  const fetch = (async (input: string, init: RequestInit) => {
    const { method, headers, body } = init;
    const said: unknown = JSON.parse(body as string);
    sent.push({ url: String(input), method, headers: Object.fromEntries(new Headers(headers)), body: said });
    (headers as Headers).set("x-changed", "by the fetch");
    return answer();
  }) as unknown as LeanFetch;
  return { fetch, sent };
}

/** Sent by the adapter itself, and by a client of the SDK for it. */
async function bothWays(api: "chat" | "responses", answer: () => Response | Promise<Response>, stream = false) {
  const asked = stream ? { ...request, onDelta: () => {} } : request;
  const own = recording(answer);
  const model = openaiModel({ model: "m", api, ...made, fetch: own.fetch });
  const bySdk = recording(answer);
  const { headers: defaultHeaders, ...rest } = made;
  const client = new OpenAI({ ...rest, defaultHeaders, maxRetries: 0, logLevel: "off", fetch: bySdk.fetch as never });
  const other = openaiModel({ model: "m", api, client, timeoutMs: made.timeoutMs });
  const answers = [await model.generate(asked), await model.generate(asked), await other.generate(asked)] as const;
  return { answers, own: own.sent, bySdk: bySdk.sent };
}

/** What the SDK says of itself. */
function withoutMarks({ headers, ...sent }: Sent): Sent {
  const kept = Object.entries(headers).filter(([name]) => !name.startsWith("x-stainless-"));
  return { ...sent, headers: Object.fromEntries(kept) };
}

test.each([
  ["chat", "chat-text", false],
  ["chat", "chat-text", true],
  ["responses", "responses-text", false],
] as const)("OAI-14 a request of %s is what the SDK sends, without its marks", async (api, name, stream) => {
  const { answers, own, bySdk } = await bothWays(api, () => Response.json(fixture(name)), stream);
  const expected = withoutMarks(bySdk[0] as Sent);
  expect(own).toEqual([expected, expected]);
  const { headers } = expected;
  expect(headers).toMatchObject({ "user-agent": "mine", "x-extra": "1", "openai-organization": "org" });
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
] as const)("OAI-14 a refusal is the same failure as over the SDK: %s", async (_name, answer) => {
  const { answers } = await bothWays("chat", answer as () => Response);
  const [one, , other] = answers;
  expect(one.failure).toBeDefined();
  // The SDK makes an error of each refusal.
  expect({ ...one, cause: undefined }).toEqual({ ...other, cause: undefined });
});

test("OAI-14 what fetch rejects with is the cause of the failure", async () => {
  const error = new TypeError("fetch failed");
  const { fetch } = recording(() => Promise.reject(error));
  expect(await openaiModel({ model: "m", ...made, fetch }).generate(request)).toMatchObject({
    failure: "throttle",
    kind: "unknown",
    message: "fetch failed",
    cause: error,
  });
});

test("OAI-14 organization, project and headers of the environment are sent; those of the options count more", async () => {
  vi.stubEnv("OPENAI_ORG_ID", "org-env");
  vi.stubEnv("OPENAI_PROJECT_ID", "project-env");
  vi.stubEnv("OPENAI_CUSTOM_HEADERS", "x-one: 1\nx-extra : env: 2\nno header");
  const { fetch, sent } = recording();
  await openaiModel({ model: "m", api: "chat", apiKey: made.apiKey, fetch }).generate(request);
  await openaiModel({ model: "m", api: "chat", ...made, fetch }).generate(request);
  expect(sent[0]?.url).toBe("https://api.openai.com/v1/chat/completions");
  expect(sent.map(({ headers }) => headers)).toMatchObject([
    {
      "user-agent": "proviso",
      "openai-organization": "org-env",
      "openai-project": "project-env",
      "x-one": "1",
      "x-extra": "env: 2",
    },
    { "user-agent": "mine", "openai-organization": "org", "x-one": "1", "x-extra": "1" },
  ]);
});

test("OAI-14 a header that HTTP does not allow is refused when the model is made, and not shown", () => {
  const headers = { "x-key": "secret-0123456789\nx" };
  const make = (): unknown => openaiModel({ model: "m", ...made, headers });
  expect(make).toThrow(DefinitionError);
  expect(make).toThrow(/^The header "x-key" has a name or a value that HTTP does not allow\.$/);
});

test.each([
  ["a value that is no text", { "x-key": 7 }],
  ["a list without texts", [Object.create(null)]],
  ["a line break", { "x-key": "a\nb" }],
])("OAI-14 checkOptions says what becomes of headers: %s", (_, headers) => {
  const options = { model: "m", ...made, headers: headers as never };
  expect(checkOptions(openai, options).ok).toBe(false);
  expect(() => openaiModel(options)).toThrow(DefinitionError);
});

test("OAI-14 what stands after the question mark of a base URL stays behind the path", async () => {
  const { fetch, sent } = recording();
  const baseURL = "http://example.test/deployments/m/?api-version=1";
  await openaiModel({ model: "m", apiKey: made.apiKey, baseURL, fetch }).generate(request);
  expect(sent[0]?.url).toBe("http://example.test/deployments/m/chat/completions?api-version=1");
});

test("OAI-14 a global fetch that was replaced after the model was made is used", async () => {
  const model = openaiModel({ model: "m", api: "chat", ...made });
  const { fetch, sent } = recording();
  vi.stubGlobal("fetch", fetch);
  expect((await model.generate(request)).failure).toBeUndefined();
  expect(sent).toHaveLength(1);
});
