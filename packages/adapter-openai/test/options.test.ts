import { DefinitionError } from "@proviso/core";
import { openai, openaiModel, type OpenAIOptions } from "@proviso/adapter-openai";
import { answering, startServer } from "@proviso/fault-matrix/loopback-server";
import { requestOf } from "@proviso/fault-matrix/requests";
import { checkOptions } from "@proviso/runtime";
import { OpenAI } from "openai";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { fixture } from "./support/fixture.ts";

const fine: OpenAIOptions = { model: "gpt-test", apiKey: "sk-test-12345678" };

beforeEach(() => {
  vi.stubEnv("OPENAI_API_KEY", "");
  vi.stubEnv("OPENAI_BASE_URL", "");
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe("PRO-2 what is out of range is refused when the adapter is made", () => {
  const refused: readonly [string, object][] = [
    ["a blank model", { model: " " }],
    ["a model that is no text", { model: 5 }],
    ["an unknown api", { api: "completions" }],
    ["a base URL that is none", { baseURL: "localhost:8080" }],
    ["a base URL with a password", { baseURL: "http://user:pa55w0rd@host/v1" }],
    ["temperature", { temperature: 2.1 }],
    ["temperature as NaN", { temperature: Number.NaN }],
    ["temperature as text", { temperature: "1" }],
    ["topP", { topP: -0.1 }],
    ["topLogprobs above 20", { topLogprobs: 21 }],
    ["topLogprobs as a fraction", { topLogprobs: 1.5 }],
    ["maxOutputTokens of zero", { maxOutputTokens: 0 }],
    ["maxOutputTokens as a fraction", { maxOutputTokens: 1.5 }],
    ["a negative timeoutMs", { timeoutMs: -1 }],
    ["a timeoutMs that no timer can hold", { timeoutMs: 2 ** 31 }],
    ["presencePenalty", { api: "chat", presencePenalty: 2.5 }],
    ["frequencyPenalty", { api: "chat", frequencyPenalty: -3 }],
    ["stop as one text", { api: "chat", stop: "END" }],
    ["seed as a fraction", { api: "chat", seed: 0.5 }],
    ["extraBody that is no JSON", { extraBody: { call: () => 1 } }],
  ];
  test.each(refused)("PRO-2 %s", (_name, wrong) => {
    const options = { ...fine, ...wrong } as OpenAIOptions;
    expect(() => openaiModel(options)).toThrow(DefinitionError);
    expect(() => openai(options)).toThrow(DefinitionError);
    expect(checkOptions(openai, options).ok).toBe(false);
  });

  const edges: readonly object[] = [
    { temperature: 0, topP: 0, topLogprobs: 0 },
    { temperature: 2, topP: 1, topLogprobs: 20, maxOutputTokens: 1, timeoutMs: 1 },
    { api: "chat", presencePenalty: -2, frequencyPenalty: 2, seed: 0, stop: ["END"] },
  ];
  test.each(edges)("PRO-2 the edges are within: %o", (right) => {
    expect(checkOptions(openai, { ...fine, ...right }).ok).toBe(true);
  });
});

test.each([{ seed: 1 }, { stop: ["END"] }, { presencePenalty: 1 }, { frequencyPenalty: 1 }])(
  "PRO-2 a setting that the Responses API does not take is refused: %o",
  (setting) => {
    expect(() => openaiModel({ ...fine, ...setting })).toThrow(/Responses API does not take/);
    expect(checkOptions(openai, { ...fine, ...setting, api: "chat" }).ok).toBe(true);
  },
);

test("PRO-2 a client in the place of the options is named as one", () => {
  const client = new OpenAI({ apiKey: "sk-own" });
  expect(() => openai(client as never)).toThrow("openai takes options, and this is a client: give { model, client }.");
});

test("PRO-2 a missing or blank key is a DefinitionError, unless the environment or a client has one", () => {
  expect(() => openaiModel({ model: "gpt-test" })).toThrow(DefinitionError);
  expect(() => openaiModel({ model: "gpt-test", apiKey: "  " })).toThrow(/OPENAI_API_KEY/);
  expect(checkOptions(openai, { model: "gpt-test", client: new OpenAI({ apiKey: "sk-own" }) }).ok).toBe(true);
  vi.stubEnv("OPENAI_API_KEY", "sk-environment");
  expect(checkOptions(openai, { model: "gpt-test" }).ok).toBe(true);
});

test("PRO-2 options are copied: a later change is not sent", async () => {
  await using server = await startServer(answering(200, fixture("chat-text")));
  const extraBody = { metadata: { team: "a" } };
  const stop = ["END"];
  const headers = { "x-team": "a" };
  const provider = openaiModel({ ...fine, api: "chat", baseURL: server.baseURL, extraBody, stop, headers });
  extraBody.metadata.team = "b";
  stop.push("STOP");
  headers["x-team"] = "b";
  await provider.generate(requestOf());
  expect(server.requests[0]?.body).toMatchObject({ metadata: { team: "a" }, stop: ["END"] });
  expect(server.requests[0]?.headers["x-team"]).toBe("a");
});

test("OAI-1 without an api it is Responses at OpenAI's own address, and Chat Completions anywhere else", async () => {
  await using server = await startServer(answering(200, fixture("chat-text")));
  const { baseURL } = server;
  await openaiModel({ ...fine, baseURL }).generate(requestOf());
  await openaiModel({ ...fine, baseURL, api: "responses" }).generate(requestOf());
  vi.stubEnv("OPENAI_BASE_URL", baseURL);
  await openaiModel(fine).generate(requestOf());
  await openaiModel({ model: "m", client: new OpenAI({ apiKey: "sk-own", baseURL }) }).generate(requestOf());
  const paths = server.requests.map(({ path }) => path);
  expect(paths).toEqual(["/v1/chat/completions", "/v1/responses", "/v1/chat/completions", "/v1/chat/completions"]);
  // A setting of Chat Completions alone is refused, so this is Responses.
  const atOpenAI = { ...fine, seed: 1, baseURL: "https://api.openai.com/v1" };
  expect(checkOptions(openai, atOpenAI).ok).toBe(false);
});

test("OAI-2 a given client is used as it is", async () => {
  const sent: unknown[] = [];
  const create = (body: unknown): unknown => {
    sent.push(body);
    return Promise.resolve(fixture("responses-text"));
  };
  const client = { responses: { create }, chat: { completions: { create } } };
  const answer = await openaiModel({ model: "gpt-test", client }).generate(requestOf());
  expect(answer).toMatchObject({ message: { text: '{"word":"a","note":null}' } });
  expect(sent).toEqual([{ model: "gpt-test", input: [{ role: "user", content: "Hello" }] }]);
});

describe("OAI-2 ERR-4 what would have no effect beside a given client is refused", () => {
  const client = new OpenAI({ apiKey: "sk-own-0123456789", baseURL: "http://127.0.0.1:1/v1" });
  const create = (): unknown => Promise.resolve(fixture("chat-text"));
  const standIn = { responses: { create }, chat: { completions: { create } } };
  const [model, api] = ["m", "chat"] as const;

  test.each<Partial<OpenAIOptions>>([
    { apiKey: "sk-option-123456" },
    { baseURL: "http://127.0.0.1:2/v1" },
    { organization: "org-1" },
    { headers: { "x-tenant": "7" } },
    { fetch: () => Promise.reject(new Error("never called")) },
    { dangerouslyAllowBrowser: true },
  ])("OAI-2 ERR-4 %o", (more) => {
    const [name] = Object.keys(more);
    const said = `Beside a client, ${name} would have no effect:`;
    expect(() => openai({ model, client, ...more })).toThrow(said);
    expect(() => openaiModel({ model, client, ...more })).toThrow(DefinitionError);
    expect(checkOptions(openai, { model, client, ...more }).ok).toBe(false);
  });

  test("OAI-2 ERR-4 all of them are named, and no key is shown", () => {
    const more = { apiKey: "sk-option-123456", baseURL: "http://127.0.0.1:2/v1", headers: { "x-tenant": "7" } };
    expect(() => openai({ model, client, ...more })).toThrow(
      "Beside a client, apiKey, headers, baseURL would have no effect: it has its own key, organization, headers, fetch " +
        "and address. Give them to the client, or leave the client out.",
    );
  });

  test("OAI-2 what is blank or undefined is as if left out, and timeoutMs and stallMs hold for a client, too", () => {
    const more = { apiKey: " ", baseURL: "", headers: undefined, timeoutMs: 5, stallMs: 5 };
    expect(() => openai({ model, client, ...more })).not.toThrow();
  });

  test("OAI-1 OAI-2 the address is the option's where the client has none", async () => {
    const paths: string[] = [];
    const by = (path: string) => ({ create: (): unknown => (paths.push(path), create()) });
    const withoutAddress = { responses: by("responses"), chat: { completions: by("chat") } };
    await openaiModel({ model, client: withoutAddress, baseURL: "http://127.0.0.1:2/v1" }).generate(requestOf());
    await openaiModel({ model, client: withoutAddress }).generate(requestOf());
    await openaiModel({ model, client: { ...withoutAddress, baseURL: "none" } as never }).generate(requestOf());
    expect(paths).toEqual(["chat", "responses", "responses"]);
    expect(() => openai({ model, client: withoutAddress, baseURL: "localhost" })).toThrow(
      "The base URL must be an address",
    );
  });

  test.each([
    [{}, "responses" as const, "responses.create"],
    [{}, "chat" as const, "chat.completions.create"],
    [{ chat: standIn.chat }, undefined, "responses.create"],
    [{ responses: standIn.responses, chat: {} }, api, "chat.completions.create"],
    [[], api, "chat.completions.create"],
  ])("OAI-2 a client without what sends the requests is refused: %o with api %s", (wrong, calls, missing) => {
    const options = { model, client: wrong as never, api: calls };
    expect(() => openai(options)).toThrow(DefinitionError);
    expect(() => openai(options)).toThrow(
      `must be a client of the package openai: this one has no ${missing}, which { api: "${calls ?? "responses"}" } calls.`,
    );
    expect(() => openai({ model, client: standIn, api: calls })).not.toThrow();
  });
});

test.each([
  [{ maxTokens: 5 }, "openai has no option maxTokens. Did you mean maxOutputTokens?"],
  [{ baseUrl: "http://localhost:1" }, "openai has no option baseUrl. Did you mean baseURL?"],
  [{ topK: 5 }, "Did you mean topP?"],
  [{ colour: "red" }, "openai has no option colour. It takes model,"],
])("ERR-4 an option that openai does not know is refused: %j", (more, message) => {
  expect(() => openai({ model: "m", apiKey: "sk-0123456789", ...more } as never)).toThrow(message);
});
