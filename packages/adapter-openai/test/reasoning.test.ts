import { openai, openaiTools } from "@proviso/adapter-openai";
import { definePrompt, defineTool, type StreamEvent } from "@proviso/core";
import { answering, startServer, type LoopbackServer } from "@proviso/fault-matrix/loopback-server";
import { startSimulator } from "@proviso/simulator";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { fixture } from "./support/fixture.ts";

const look = defineTool({
  name: "look_up",
  description: "Looks up.",
  input: z.looseObject({}),
  execute: () => "found",
});
const search = openaiTools.webSearch({ domains: ["nodejs.org"], contextSize: "low" });
const news = definePrompt({
  key: "news",
  sections: [{ key: "task", role: "user", text: "What is new?", tools: [look], providerTools: [search] }],
});
const ask = definePrompt({ key: "ask", text: "Question." }).bind();

const searched = {
  id: "ws_1",
  type: "web_search_call",
  status: "completed",
  action: { type: "search", query: "node 24" },
};
const thinking = {
  id: "rs_1",
  type: "reasoning",
  encrypted_content: "gAAAAB",
  summary: [
    { type: "summary_text", text: "First I search." },
    { type: "summary_text", text: "Then I answer." },
  ],
};
const cite = (url: string, start: number, end: number) => ({
  type: "url_citation",
  url,
  title: url,
  start_index: start,
  end_index: end,
});
const written = (text: string, annotations: readonly object[] = []) => ({
  id: "msg_1",
  type: "message",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", text, annotations, logprobs: [] }],
});
const calling = {
  id: "fc_1",
  type: "function_call",
  status: "completed",
  call_id: "call_1",
  name: "look_up",
  arguments: "{}",
};

function responded(output: readonly object[]): Record<string, unknown> {
  return { ...fixture("responses-text"), output };
}

function streamed(events: readonly object[]): string {
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
}

function itemsSentTo(server: LoopbackServer, request: number): readonly unknown[] {
  return (server.requests[request]?.body["input"] ?? []) as readonly unknown[];
}

const sse = { "content-type": "text/event-stream" };

async function eventsOf(stream: AsyncIterable<StreamEvent>): Promise<readonly StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

test("RSN-2 the summaries of a Responses answer are its reasoning, and no request has them as text", async () => {
  const first = responded([thinking, calling]);
  const second = responded([thinking, written("Much.")]);
  await using server = await startServer(answering(200, first), answering(200, second));
  const adapter = openai({ model: "m", apiKey: "k", api: "responses", baseURL: server.baseURL });
  const response = await adapter.evaluate(news.bind());
  const once = "First I search.\n\nThen I answer.";
  expect(response.reasoning).toBe(`${once}\n\n${once}`);
  expect(response.output).toBe("Much.");
});

test("RSN-3 reasoning items go back unchanged and in order, also to another model of the service", async () => {
  const first = responded([thinking, calling]);
  const more = answering(200, responded([written("More.")]));
  await using server = await startServer(answering(200, first), answering(200, responded([written("Much.")])), more);
  const given = { apiKey: "k", api: "responses", baseURL: server.baseURL } as const;
  const adapter = openai({ ...given, model: "m" });
  const { messages } = await adapter.evaluate(news.bind());
  expect(itemsSentTo(server, 1).slice(1, 3)).toEqual([thinking, calling]);

  await openai({ ...given, model: "other" }).evaluate(ask, { messages });
  expect(itemsSentTo(server, 2).slice(1, 3)).toEqual([thinking, calling]);
});

test("RSN-2 RSN-3 another provider gets text and calls alone", async () => {
  const first = responded([thinking, calling]);
  await using server = await startServer(answering(200, first), answering(200, responded([written("Much.")])));
  const adapter = openai({ model: "m", apiKey: "k", api: "responses", baseURL: server.baseURL });
  const { messages } = await adapter.evaluate(news.bind());
  await using chat = await startServer(answering(200, fixture("chat-text")));
  await openai({ model: "m", apiKey: "k", api: "chat", baseURL: chat.baseURL }).evaluate(ask, { messages });
  const sent = JSON.stringify(chat.requests[0]?.body);
  expect(sent).not.toMatch(/First I search|gAAAAB/);
  expect(sent).toContain("call_1");
});

test("RSN-1 summaries that are streamed add up to the answer's reasoning without a reset", async () => {
  const delta = (summary_index: number, text: string) => ({
    type: "response.reasoning_summary_text.delta",
    output_index: 0,
    summary_index,
    delta: text,
  });
  const body = streamed([
    delta(0, "First "),
    delta(0, "I search."),
    delta(1, "Then I answer."),
    { type: "response.output_text.delta", output_index: 1, content_index: 0, delta: "Much." },
    { type: "response.completed", response: responded([thinking, written("Much.")]) },
  ]);
  await using server = await startServer(answering(200, body, sse));
  const adapter = openai({ model: "m", apiKey: "k", api: "responses", baseURL: server.baseURL });
  const stream = adapter.stream(ask);
  const events = await eventsOf(stream);
  const thoughts = events.flatMap((event) => (event.type === "reasoning.delta" ? event.text : [])).join("");
  expect(thoughts).toBe("First I search.\n\nThen I answer.");
  expect((await stream.response).reasoning).toBe(thoughts);
  expect(events.some(({ type }) => type === "text.reset")).toBe(false);
});

describe.each(["reasoning_content", "reasoning"])("over chat, where the server names thoughts %s", (name) => {
  test("RSN-1 RSN-2 they are the answer's reasoning, streamed or not", async () => {
    const plain = fixture("chat-text");
    const [choice] = plain["choices"] as { message: Record<string, unknown> }[];
    if (choice !== undefined) choice.message = { role: "assistant", content: "Much.", [name]: "Hm. Yes." };
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      id: "c",
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, finish_reason }],
    });
    const body = streamed([
      chunk({ [name]: "Hm. " }),
      chunk({ [name]: "Yes." }),
      chunk({ content: "Much." }),
      chunk({}, "stop"),
    ]);
    await using server = await startServer(answering(200, plain), answering(200, `${body}data: [DONE]\n\n`, sse));
    const adapter = openai({ model: "m", apiKey: "k", api: "chat", baseURL: server.baseURL });
    expect(await adapter.evaluate(ask)).toMatchObject({ reasoning: "Hm. Yes.", output: "Much." });
    const stream = adapter.stream(ask);
    const events = await eventsOf(stream);
    expect(events.flatMap((event) => (event.type === "reasoning.delta" ? event.text : []))).toEqual(["Hm. ", "Yes."]);
    expect(await stream.response).toMatchObject({ reasoning: "Hm. Yes.", output: "Much." });
  });
});

describe("over chat, what a compatible service thought before a call", () => {
  const looking = definePrompt({ key: "looking", sections: [{ key: "task", text: "Look.", tools: [look] }] }).bind();
  const message = (name: string, calls: boolean): object => ({
    role: "assistant",
    content: calls ? null : "Seen.",
    [name]: calls ? "I have to look." : "Now I know.",
    ...(calls ? { tool_calls: [{ id: "c1", type: "function", function: { name: "look_up", arguments: "{}" } }] } : {}),
  });
  const whole = (name: string, calls: boolean): object => ({
    ...fixture("chat-text"),
    choices: [{ index: 0, message: message(name, calls), finish_reason: calls ? "tool_calls" : "stop" }],
  });
  const inPieces = (name: string, calls: boolean): string => {
    const { tool_calls, ...rest } = message(name, calls) as { readonly tool_calls?: readonly object[] };
    const delta = tool_calls === undefined ? rest : { ...rest, tool_calls: [{ index: 0, ...tool_calls[0] }] };
    const chunk = (choice: object): object => ({ id: "c", object: "chat.completion.chunk", choices: [choice] });
    const end = { index: 0, delta: {}, finish_reason: calls ? "tool_calls" : "stop" };
    return `${streamed([chunk({ index: 0, delta, finish_reason: null }), chunk(end)])}data: [DONE]\n\n`;
  };
  /** The thoughts in the messages of each request. */
  const sentThoughts = async (name: string, streams: boolean, toElsewhere = false): Promise<unknown> => {
    const steps = [true, false, false];
    await using server = await startServer(
      ...steps.map((calls, at) =>
        streams && at < 2 ? answering(200, inPieces(name, calls), sse) : answering(200, whole(name, calls)),
      ),
    );
    await using other = await startServer(answering(200, whole(name, false)));
    const at = (baseURL: string) => openai({ model: "m", apiKey: "k", api: "chat", baseURL });
    const adapter = at(server.baseURL);
    const { messages } = await (streams ? adapter.stream(looking).response : adapter.evaluate(looking));
    await (toElsewhere ? at(other.baseURL) : adapter).evaluate("More?", { messages });
    return [...server.requests, ...other.requests].map(({ body }) =>
      (body["messages"] as readonly Record<string, unknown>[]).flatMap((one) => one["reasoning_content"] ?? []),
    );
  };

  test.each([false, true])("RSN-2 goes back with the call, streamed: %s", async (streams) => {
    expect(await sentThoughts("reasoning_content", streams)).toEqual([[], ["I have to look."], ["I have to look."]]);
  });

  test("RSN-2 RSN-3 goes to no other service, and not where the service names it otherwise", async () => {
    expect(await sentThoughts("reasoning_content", false, true)).toEqual([[], ["I have to look."], []]);
    expect(await sentThoughts("reasoning", false)).toEqual([[], [], []]);
    expect(await sentThoughts("reasoning", true)).toEqual([[], [], []]);
  });
});

test("SRC-1 citations are sources, placed in the whole text and each once", async () => {
  const output = [
    written("See a.", [cite("https://a.example/", 4, 5), { type: "file_citation", file_id: "f", filename: "b.pdf" }]),
    written("And c.", [cite("https://a.example/", 0, 3), cite("https://c.example/", 4, 5)]),
  ];
  await using server = await startServer(answering(200, responded(output)));
  const adapter = openai({ model: "m", apiKey: "k", api: "responses", baseURL: server.baseURL });
  const { sources = [], text } = await adapter.evaluate(ask);
  expect(sources.map(({ url, fileName }) => url ?? fileName)).toEqual([
    "https://a.example/",
    "b.pdf",
    "https://c.example/",
  ]);
  expect(sources.map(({ at }) => at && text?.slice(at.start, at.end))).toEqual(["a", undefined, "c"]);
});

test("SRC-1 citations of Chat Completions are sources", async () => {
  const body = fixture("chat-text");
  const [choice] = body["choices"] as { message: Record<string, unknown> }[];
  const { type, ...url_citation } = cite("https://a.example/", 0, 1);
  if (choice !== undefined) choice.message["annotations"] = [{ type, url_citation }];
  await using server = await startServer(answering(200, body));
  const { sources } = await openai({ model: "m", apiKey: "k", api: "chat", baseURL: server.baseURL }).evaluate(ask);
  expect(sources).toEqual([
    { kind: "url", url: "https://a.example/", title: "https://a.example/", at: { start: 0, end: 1 } },
  ]);
});

test("PTL-1 a provider tool goes out beside our own, with what the service wants of it", async () => {
  await using server = await startServer(answering(200, responded([written("Much.")])));
  await openai({ model: "m", apiKey: "k", api: "responses", baseURL: server.baseURL }).evaluate(news.bind());
  expect(server.requests[0]?.body["tools"]).toEqual([
    expect.objectContaining({ type: "function", name: "look_up" }),
    { type: "web_search", filters: { allowed_domains: ["nodejs.org"] }, search_context_size: "low" },
  ]);
});

test("PTL-1 each of openaiTools has the service's own names", () => {
  expect(openaiTools.webSearch()).toMatchObject({ name: "web_search", id: "openai.web_search", args: {} });
  expect(openaiTools.codeInterpreter().args).toEqual({ container: { type: "auto" } });
  expect(openaiTools.codeInterpreter({ container: "c" }).args).toEqual({ container: "c" });
  const args = { vector_store_ids: ["v"], max_num_results: 3 };
  expect(openaiTools.fileSearch({ vectorStores: ["v"], maxResults: 3 }).args).toEqual(args);
  expect(openaiTools.imageGeneration({ quality: "low" }).args).toEqual({ quality: "low" });
  expect(() => openaiTools.fileSearch({ vectorStores: [] })).toThrow(/at least one vector store/);
});

test("PTL-2 Chat Completions offers no provider tools, and nothing is sent", async () => {
  await using simulator = await startSimulator({ steps: [{ text: "never" }] });
  const adapter = openai({ model: "m", apiKey: "k", api: "chat", baseURL: simulator.baseURL });
  await expect(adapter.evaluate(news.bind())).rejects.toMatchObject({ code: "provider", reason: "bad_request" });
  expect(simulator.requests).toHaveLength(0);
});

test("PTL-3 PTL-4 a call that the service ran is an event, gets no tool message, and goes back as its item", async () => {
  const failed = { ...searched, id: "ws_2", status: "failed" };
  const first = responded([searched, failed, calling]);
  await using server = await startServer(answering(200, first), answering(200, responded([written("Much.")])));
  const adapter = openai({ model: "m", apiKey: "k", api: "responses", baseURL: server.baseURL });
  const stream = adapter.stream(news.bind());
  // The server answers with JSON, so the whole answer comes at once.
  const events = await eventsOf(stream);
  const used = events.filter((event) => event.type === "provider.tool");
  expect(used).toMatchObject([
    { callId: "ws_1", name: "web_search", input: searched.action, isError: false, turn: 1 },
    { callId: "ws_2", isError: true },
  ]);
  const types = events.map(({ type }) => type);
  expect(types.indexOf("provider.tool")).toBeLessThan(types.indexOf("provider.responded"));
  const invoked = events.flatMap((event) => (event.type === "tool.invoked" ? event.callId : []));
  expect(invoked).toEqual(["call_1"]);
  expect(itemsSentTo(server, 1).slice(1)).toEqual([
    searched,
    failed,
    calling,
    { type: "function_call_output", call_id: "call_1", output: "found" },
  ]);
});

test("RSN-4 effort and summary reach Responses as reasoning, Chat as reasoning_effort", async () => {
  const settings = { reasoning: { effort: "high", summary: "auto" } } as const;
  await using responses = await startServer(answering(200, responded([written("Much.")])));
  await openai({ model: "m", apiKey: "k", api: "responses", baseURL: responses.baseURL }).evaluate(ask, { settings });
  expect(responses.requests[0]?.body["reasoning"]).toEqual({ effort: "high", summary: "auto" });
  await using chat = await startServer(answering(200, fixture("chat-text")));
  const overChat = openai({ model: "m", apiKey: "k", api: "chat", baseURL: chat.baseURL });
  await expect(overChat.evaluate(ask, { settings })).rejects.toMatchObject({ reason: "bad_request" });
  await overChat.evaluate(ask, { settings: { reasoning: { effort: "high" } } });
  expect(chat.requests).toHaveLength(1);
  expect(chat.requests[0]?.body["reasoning_effort"]).toBe("high");
});
