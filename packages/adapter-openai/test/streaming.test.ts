import { definePrompt, type ModelResponse } from "@proviso/core";
import type { ModelDelta } from "@proviso/core/provider";
import { openai, openaiModel } from "@proviso/adapter-openai";
import { startSimulator, type AnswerStep } from "@proviso/simulator";
import { answerOf, failureOf, lookUp, requestOf } from "@proviso/fault-matrix/requests";
import { answering, startServer } from "@proviso/fault-matrix/loopback-server";
import fc from "fast-check";
import { OpenAI } from "openai";
import { expect, test } from "vitest";
import { z } from "zod";
import { anyCharacter } from "../../core/test/support/any-character.ts";

const apis = ["responses", "chat"] as const;
const key = "sk-secret-0123456789";
const modelAt = (server: { readonly baseURL: string }, api: (typeof apis)[number], more: object = {}) =>
  openaiModel({ model: "m", api, apiKey: key, baseURL: server.baseURL, ...more });

async function bothWays(api: (typeof apis)[number], step: AnswerStep) {
  await using simulator = await startSimulator({ steps: [step, step] });
  const model = modelAt(simulator, api);
  const deltas: string[] = [];
  const onDelta = (delta: ModelDelta): void => void (delta.kind === "text" && deltas.push(delta.text));
  const streamed = answerOf(await model.generate(requestOf({ tools: [lookUp], onDelta })));
  const json = answerOf(await model.generate(requestOf({ tools: [lookUp] })));
  return { streamed, json, deltas };
}
/** Without what the server numbers anew. */
const comparable = ({ payload: _, ...response }: ModelResponse): unknown =>
  JSON.parse(JSON.stringify(response).replaceAll(/_sim_\d+/g, ""));

test.each(apis)("OAI-10 STR-1 a stream of %s comes to the response that JSON would have given", async (api) => {
  const text = fc.oneof(fc.string({ unit: "grapheme" }), fc.string({ unit: anyCharacter }));
  const step = fc.record(
    {
      text: text.filter((given) => given.isWellFormed()),
      reasoning: fc.string({ minLength: 1 }),
      toolCalls: fc.array(
        fc.record({
          name: fc.constant("look_up"),
          arguments: fc.record({ word: text.filter((given) => given.isWellFormed()) }),
          id: fc.uuid(),
        }),
        { maxLength: 3 },
      ),
      finishReason: fc.constantFrom("stop", "length"),
      chunkCharacters: fc.integer({ min: 1, max: 9 }),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(step, async (given) => {
      const { streamed, json, deltas } = await bothWays(api, given as AnswerStep);
      expect(comparable(streamed)).toEqual(comparable(json));
      expect(deltas.join("")).toBe(streamed.message.text);
    }),
    { numRuns: 40, seed: 20_261_121 },
  );
});

test.each(apis)("OAI-10 a refusal on %s is the same streamed", async (api) => {
  const { streamed, json } = await bothWays(api, { refusal: "I cannot." });
  expect(comparable(streamed)).toEqual(comparable(json));
  expect(streamed.refusal).toBe("I cannot.");
});

const event = (data: unknown, name?: string) =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
const streaming = (...pieces: readonly string[]) =>
  answering(200, pieces.join(""), { "content-type": "text/event-stream" });
const completed = (text: string) => ({
  type: "response.completed",
  response: {
    status: "completed",
    model: "m",
    output: text === "" ? [] : [{ type: "message", content: [{ type: "output_text", text }] }],
    usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
  },
});
const delta = (text: string, sequence_number?: number) => ({
  type: "response.output_text.delta",
  delta: text,
  sequence_number,
});

test.each([
  ["in order", [delta("a", 0), delta("b", 1), delta("c", 2)], ["a", "b", "c"]],
  ["doubled", [delta("a", 0), delta("a", 0), delta("b", 1), delta("b", 1)], ["a", "b"]],
  ["out of order", [delta("a", 0), delta("c", 2), delta("b", 1)], ["a", "b", "c"]],
  ["without numbers", [delta("a"), delta("b")], ["a", "b"]],
  ["not from zero", [delta("a", 7), delta("b", 8)], ["a", "b"]],
  [
    "with numbers skipped",
    Array.from({ length: 40 }, (_, index) => delta("x", index * 2)),
    Array.from({ length: 40 }, () => "x"),
  ],
])("OAI-12 deltas that come %s are emitted once, in order", async (_, events, told) => {
  await using server = await startServer(
    streaming(...events.map((one) => event(one, one.type)), event(completed("text"), "response.completed")),
  );
  const deltas: string[] = [];
  const answer = answerOf(
    await modelAt(server, "responses").generate(
      requestOf({ onDelta: (delta) => void (delta.kind === "text" && deltas.push(delta.text)) }),
    ),
  );
  expect(deltas).toEqual(told);
  expect(answer.message.text).toBe("text");
});

test("OAI-12 items that the last event leaves out are taken from earlier events", async () => {
  const item = { type: "message", content: [{ type: "output_text", text: "hello" }] };
  const done = { type: "response.output_item.done", output_index: 0, item, sequence_number: 0 };
  await using server = await startServer(streaming(event(done, done.type), event(completed(""), "response.completed")));
  const answer = answerOf(await modelAt(server, "responses").generate(requestOf({ onDelta: () => {} })));
  expect(answer.message.text).toBe("hello");
});

test("OAI-12 Chat: pieces of calls without an index belong to the call before; late deltas are passed over", async () => {
  const chunk = (given: object, finish_reason: string | null = null) =>
    event({ id: "c", model: "m", choices: [{ index: 0, delta: given, finish_reason }] });
  await using server = await startServer(
    streaming(
      chunk({ tool_calls: [{ id: "1", function: { name: "look_up", arguments: '{"wo' } }] }),
      chunk({ tool_calls: [{ function: { arguments: 'rd":"a"}' } }] }),
      event({ id: "c", choices: [{ index: 1, delta: { content: "another choice" }, finish_reason: "stop" }] }),
      chunk({}, "tool_calls"),
      chunk({ content: "late" }),
      "data: [DONE]\n\n",
    ),
  );
  const deltas: string[] = [];
  const answer = answerOf(
    await modelAt(server, "chat").generate(
      requestOf({ onDelta: (delta) => void (delta.kind === "text" && deltas.push(delta.text)) }),
    ),
  );
  expect(answer.message).toEqual({
    role: "assistant",
    text: "",
    toolCalls: [{ id: "1", name: "look_up", arguments: '{"word":"a"}' }],
  });
  expect(deltas).toEqual([]);
});

test.each([
  [
    "arguments as an object",
    [{ tool_calls: [{ index: 0, id: "1", function: { name: "look_up", arguments: { word: "a" } } }] }],
  ],
  [
    "an empty object before the arguments as text",
    [
      { tool_calls: [{ index: 0, id: "1", function: { name: "look_up", arguments: {} } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"word":"a"}' } }] },
    ],
  ],
])("OAI-10 OAI-12 Chat: what compatible servers send whole, they may stream: %s", async (_, deltas) => {
  const chunks = deltas.map((delta) => event({ id: "c", model: "m", choices: [{ index: 0, delta }] }));
  const end = event({ id: "c", choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] });
  await using server = await startServer(streaming(...chunks, end, "data: [DONE]\n\n"));
  const { message } = answerOf(await modelAt(server, "chat").generate(requestOf({ onDelta: () => {} })));
  expect(message.toolCalls).toEqual([{ id: "1", name: "look_up", arguments: '{"word":"a"}' }]);
});

test("OAI-10 OAI-12 Chat: a content of parts is its texts, streamed as well as whole", async () => {
  const content = [
    { type: "thinking", thinking: [] },
    { type: "text", text: "Hi " },
    { type: "text", text: "you" },
  ];
  const chunk = event({ id: "c", model: "m", choices: [{ index: 0, delta: { content }, finish_reason: "stop" }] });
  await using server = await startServer(streaming(chunk, "data: [DONE]\n\n"));
  const texts: string[] = [];
  const onDelta = (delta: ModelDelta): void => void (delta.kind === "text" && texts.push(delta.text));
  const { message } = answerOf(await modelAt(server, "chat").generate(requestOf({ onDelta })));
  expect([message.text, texts]).toEqual(["Hi you", ["Hi you"]]);
});

test.each(["is cut", "stands still"])(
  "OAI-10 Chat: a stream that has given its finish reason and then %s is a whole answer, and not asked for again",
  async (how) => {
    for (const withClient of [false, true]) {
      let asked = 0;
      const chunk = (delta: object, finish_reason?: string) =>
        event({ id: "c", choices: [{ index: 0, delta, finish_reason }] });
      const fetch = async (
        _: unknown,
        { signal }: { signal?: AbortSignal | null | undefined } = {},
      ): Promise<Response> => {
        asked += 1;
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            controller.enqueue(new TextEncoder().encode(chunk({ content: "All of it." }) + chunk({}, "stop")));
            signal?.addEventListener("abort", () => controller.error(signal.reason));
            if (how === "is cut") setTimeout(() => controller.error(new TypeError("terminated")), 5);
          },
        });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      };
      const client = new OpenAI({ apiKey: key, fetch: fetch as never, maxRetries: 0 });
      const common = { model: "m", api: "chat", stallMs: 50 } as const;
      const adapter = openai(withClient ? { ...common, client } : { ...common, apiKey: key, fetch });
      const { output, usage } = await adapter.stream("Say it.").response;
      expect([output, asked, usage.outputTokens > 0]).toEqual(["All of it.", 1, true]);
    }
  },
);

test("OAI-10 LIM-3 Chat: an abort after the finish reason is an abort", async () => {
  const controller = new AbortController();
  const reason = new Error("enough");
  const sent = event({ id: "c", choices: [{ index: 0, delta: { content: "All." }, finish_reason: "stop" }] });
  const fetch = async (_: unknown, { signal }: { signal?: AbortSignal | null | undefined } = {}): Promise<Response> => {
    const body = new ReadableStream<Uint8Array>({
      start(stream) {
        stream.enqueue(new TextEncoder().encode(sent));
        signal?.addEventListener("abort", () => stream.error(signal.reason));
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  const model = openaiModel({ model: "m", api: "chat", apiKey: key, fetch });
  const onDelta = (): void => void setTimeout(() => controller.abort(reason), 5);
  await expect(model.generate(requestOf({ signal: controller.signal, onDelta }))).rejects.toBe(reason);
});

test.each([
  ["overloaded", { failure: "throttle", kind: "server_error" }],
  ["rate_limit_exceeded", { failure: "throttle", kind: "rate_limit" }],
  ["insufficient_quota", { failure: "throttle", kind: "quota_exhausted" }],
  ["context_length_exceeded", { failure: "provider", reason: "context_length" }],
  ["brand_new", { failure: "provider", reason: "unknown" }],
])("OAI-10 THR-1 an error event with the code %s is classified by it", async (code, failure) => {
  for (const api of apis) {
    const error = { message: "It broke.", code, param: null };
    const sent = api === "responses" ? event({ type: "error", ...error }, "error") : event({ error });
    await using server = await startServer(streaming(event(delta("a", 0)), sent));
    expect(await failureOf(modelAt(server, api), { onDelta: () => {} })).toMatchObject({
      ...failure,
      message: "It broke.",
    });
  }
});

test.each(apis)(
  "OAI-10 LIM-9 more sources in one event of %s than a call may have arguments are all there",
  async (api) => {
    const count = 150_000;
    const source = { url: "https://a.b" };
    const isChat = api === "chat";
    const annotation = isChat ? { type: "url_citation", url_citation: source } : { type: "url_citation", ...source };
    const annotations = Array.from({ length: count }, () => annotation);
    const content = [{ type: "output_text", text: "a", annotations }];
    const output = [{ type: "message", role: "assistant", content }];
    const sent = isChat
      ? event({ id: "x", choices: [{ index: 0, delta: { content: "a", annotations }, finish_reason: "stop" }] })
      : event({ type: "response.completed", response: { id: "r", object: "response", status: "completed", output } });
    await using server = await startServer(streaming(sent));
    const { sources } = answerOf(await modelAt(server, api).generate(requestOf({ onDelta: () => {} })));
    expect(sources?.length).toBe(count);
  },
);

test("OAI-10 LIM-3 an aborted stream rejects with the signal's reason, and leaves no listener on it", async () => {
  const { getEventListeners } = await import("node:events").then(({ default: events }) => events);
  for (const api of apis) {
    await using simulator = await startSimulator({ steps: [{ text: "x".repeat(500), eventMs: 20 }] });
    const controller = new AbortController();
    const reason = new Error("enough");
    const answer = modelAt(simulator, api).generate(
      requestOf({ signal: controller.signal, onDelta: () => controller.abort(reason) }),
    );
    await expect(answer).rejects.toBe(reason);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  }
});

test("OAI-10 a stand-in for the client may stream with any async iterable, or not at all", async () => {
  async function* events() {
    yield delta("he", 0);
    yield delta("llo", 1);
    yield completed("hello");
  }
  for (const created of [events(), completed("hello").response]) {
    const client = { responses: { create: async () => created }, chat: { completions: { create: async () => ({}) } } };
    const model = openaiModel({ model: "m", api: "responses", client });
    expect(answerOf(await model.generate(requestOf({ onDelta: () => {} }))).message.text).toBe("hello");
  }
});

test("OAI-13 SEC-1 the key is in no event of an evaluation, streamed or not", async () => {
  const { definePrompt } = await import("@proviso/core");
  const { createSession } = await import("@proviso/runtime");
  await using simulator = await startSimulator({
    rules: [() => ({ text: `Your key is ${key}, isn't it?`, chunkCharacters: 200 })],
  });
  const adapter = openai({ model: "m", api: "responses", apiKey: key, baseURL: simulator.baseURL });
  const session = createSession();
  const events: unknown[] = [];
  session.on("*", (told) => void events.push(told));
  const prompt = definePrompt({ key: "p", text: "Tell me." }).bind();
  await adapter.evaluate(prompt, { session });
  await adapter.stream(prompt, { session }).response;
  expect(JSON.stringify(events)).not.toContain(key);
});

const noted = z.object({ title: z.string(), why: z.string().optional(), kept: z.string().nullable() });

test.each(
  apis.flatMap((api) => [
    [api, noted, { title: "ab", why: null, kept: null }, { title: "ab", kept: null }] as const,
    [api, z.array(noted), { items: [{ title: "a", why: null, kept: "b" }] }, [{ title: "a", kept: "b" }]] as const,
  ]),
)(
  "STR-4 over api %s a null that stands for an absent key is in no part of the output",
  async (api, output, sent, read) => {
    await using simulator = await startSimulator({ steps: [{ output: sent }] });
    const adapter = openai({ model: "gpt-test", api, apiKey: "sk-test", baseURL: simulator.baseURL });
    const prompt = definePrompt({
      ns: "tests",
      key: "noted",
      output,
      sections: [{ key: "ask", text: "Note.", role: "user" }],
    });
    const stream = adapter.stream<unknown>(prompt.bind({}));
    const partials: unknown[] = [];
    for await (const event of stream) if (event.type === "output.delta") partials.push(event.partial);
    expect((await stream.response).output).toEqual(read);
    expect(partials.at(-1)).toStrictEqual(read);
    expect(JSON.stringify(partials)).not.toContain('"why":null');
  },
);
