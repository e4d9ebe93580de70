import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdkModel, type LanguageModel } from "@proviso/adapter-ai-sdk";
import { answering, startServer, type Respond } from "@proviso/fault-matrix/loopback-server";
import { requestOf } from "@proviso/fault-matrix/requests";
import { fakeClock } from "@proviso/runtime/testing";
import { describe, expect, test, vi } from "vitest";
import { eventsOf, streaming } from "./support/events.ts";

const wires: Readonly<Record<string, readonly ["responses" | "chat", (baseURL: string) => LanguageModel]>> = {
  responses: ["responses", (baseURL) => createOpenAI({ baseURL, apiKey: "none" }).responses("gpt-test")],
  chat: ["chat", (baseURL) => createOpenAI({ baseURL, apiKey: "none" }).chat("gpt-test")],
  compatible: ["chat", (baseURL) => createOpenAICompatible({ baseURL, name: "here" })("gpt-test")],
};

const cut = { failure: "throttle", kind: "unknown" };
const late = { failure: "throttle", kind: "timeout" };
const broken = { failure: "throttle", kind: "server_error", message: "Oops." };
const garbled = { failure: "provider", reason: "invalid_response" };
const said = (text: string, finishReason = "stop") => ({ message: { text }, finishReason });

type Names = Parameters<typeof eventsOf>[1];
type End = Parameters<typeof streaming>[1];
/** What is sent, how it ends, what is answered, which deltas were told. */
const cases: readonly (readonly [string, Names, End, object, readonly string[]])[] = [
  [
    "a whole stream",
    ["created", "begun", "hello", "you", "whole", "end"],
    "ended",
    said("Hello you."),
    ["Hello", " you."],
  ],
  ["one that is cut behind its end", ["created", "begun", "hello", "end"], "cut late", said("Hello"), ["Hello"]],
  ["one that stands still behind its end", ["created", "begun", "hello", "end"], "open", said("Hello"), ["Hello"]],
  ["one that ends early", ["created", "begun", "hello"], "ended", cut, ["Hello"]],
  ["one that ends before it says anything", ["created"], "ended", cut, []],
  ["one without an event", [], "ended", cut, []],
  ["one that is cut", ["created", "begun", "hello"], "cut", cut, ["Hello"]],
  ["one that stalls", ["created", "begun", "hello"], "open", late, ["Hello"]],
  ["one that stalls before it says anything", ["created"], "open", late, []],
  ["an error at first", ["error"], "ended", broken, []],
  ["an error at first, left open", ["error"], "open", broken, []],
  ["an error in the middle", ["created", "begun", "hello", "error"], "open", broken, ["Hello"]],
  ["an overloaded service", ["overloaded"], "ended", broken, []],
  ["an overloaded service in the middle", ["created", "begun", "hello", "overloaded"], "ended", broken, ["Hello"]],
  ["a response that fails", ["created", "begun", "hello", "failed"], "ended", broken, ["Hello"]],
  ["an answer cut short", ["created", "begun", "hello", "short"], "ended", said("Hello", "length"), ["Hello"]],
  ["a refusal", ["created", "begun", "refusing", "refused", "end"], "ended", { refusal: "I cannot." }, []],
  ["an event that is no JSON", ["created", "garbled", "end"], "ended", garbled, []],
  ["an event that is not known", ["created", "odd", "begun", "hello", "end"], "ended", said("Hello"), ["Hello"]],
  ["AIS-22 events after the end", ["created", "begun", "hello", "end", "you"], "ended", said("Hello"), ["Hello"]],
];

/** `stallsAfter`: the stream stands still for as long as it may once so many deltas have come; otherwise no time passes. */
async function streamed(respond: Respond, make: (baseURL: string) => LanguageModel, stallsAfter?: number) {
  await using service = await startServer(respond);
  const deltas: string[] = [];
  const clock = fakeClock();
  const model = aiSdkModel({ model: make(service.baseURL), stallMs: 200, clock });
  let isOver = false;
  const asked = model
    .generate(requestOf({ onDelta: (delta) => "text" in delta && deltas.push(delta.text) }))
    .finally(() => (isOver = true));
  if (stallsAfter !== undefined) {
    const heard = () => ({ requests: service.requests.length, deltas: deltas.length });
    await vi.waitFor(() => expect(heard()).toEqual({ requests: 1, deltas: stallsAfter }), { timeout: 120_000 });
    while (!isOver) await clock.advance(200);
  }
  return { answer: await asked, deltas, requests: service.requests.length };
}

describe.each(Object.entries(wires))("%s", (_, [api, make]) => {
  test.each(cases)("AIS-17 THR-1 PRO-3 %s", async (_name, names, end, expected, told) => {
    const stallsAfter = expected === late || _name.includes("stands still") ? told.length : undefined;
    const { answer, deltas, requests } = await streamed(streaming(eventsOf(api, names), end), make, stallsAfter);
    expect(answer).toMatchObject(expected);
    expect({ deltas, requests }).toEqual({ deltas: told, requests: 1 });
  });

  test("AIS-17 a body that is no stream", async () => {
    for (const type of ["text/html", "application/json"]) {
      const { answer } = await streamed(answering(200, "<html>Hello</html>", { "content-type": type }), make);
      expect(answer).toMatchObject(garbled);
    }
  });

  test("SEC-3 a connection that the service keeps open is closed when the answer is known", async () => {
    let closed: Promise<unknown> | undefined;
    const respond: Respond = (response) => {
      closed = new Promise((resolve) => response.once("close", resolve));
      streaming(eventsOf(api, ["error"]), "open")(response);
    };
    await using service = await startServer(respond);
    const model = aiSdkModel({ model: make(service.baseURL) });
    expect(await model.generate(requestOf({ onDelta: () => {} }))).toMatchObject(broken);
    await closed;
  });
});

test("AIS-22 PRO-3 an event of the Responses API that comes twice counts once", async () => {
  const names: Names = ["created", "begun", "hello", "hello*", "you", "you*", "whole", "whole*", "end"];
  const [api, make] = wires["responses"] ?? [];
  if (api === undefined || make === undefined) throw new Error("There is no such wire.");
  const { answer, deltas } = await streamed(streaming(eventsOf(api, names)), make);
  expect(answer).toMatchObject(said("Hello you."));
  expect(deltas).toEqual(["Hello", " you."]);
});

const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) => ({
  id: "1",
  model: "gpt-test",
  choices: [{ index: 0, delta, finish_reason }],
  ...more,
});

test("AIS-22 an event of the Responses API that comes late is no loss, also where the last one leaves the items out", async () => {
  const [, make] = wires["responses"] ?? [];
  if (make === undefined) throw new Error("There is no such wire.");
  const call = { id: "f", type: "function_call", call_id: "c", name: "look_up", arguments: "{}", status: "completed" };
  const given = eventsOf("responses", ["created", "begun", "hello", "you", "whole", "odd", "odd", "end"]) as object[];
  const [created, begun, hello, you, whole, next, last, end] = given.map((event) => ({ ...event }));
  const done = { ...next, type: "response.output_item.done", output_index: 1, item: call };
  for (const events of [
    [created, begun, you, hello, whole, done, end],
    [created, begun, hello, you, whole, last, done, end],
  ]) {
    const { answer } = await streamed(streaming(events as object[]), make);
    expect(answer).toMatchObject({ message: { text: "Hello you.", toolCalls: [{ id: "c" }] } });
  }
});

describe("AIS-22 AIS-17 where the last event leaves the items out", () => {
  const call = { id: "f", type: "function_call", call_id: "c", name: "look_up", arguments: "{}", status: "completed" };
  const names: Names = ["created", "begun", "hello", "you", "whole", "end"];
  const [created, begun, hello, you, whole, end] = eventsOf("responses", names) as readonly object[];
  const item = (type: "added" | "done", output_index: number, given: object) => ({
    type: `response.output_item.${type}`,
    output_index,
    item: given,
  });
  const empty = { id: "msg_1", type: "message", role: "assistant", status: "completed", content: [] };
  const answerTo = async (events: readonly (object | undefined)[]) => {
    const [, make] = wires["responses"] ?? [];
    if (make === undefined) throw new Error("There is no such wire.");
    const numbered = events.map((event, sequence_number) => ({ ...event, sequence_number }));
    return (await streamed(streaming(numbered), make)).answer;
  };

  test.each([
    ["never came whole", [], 1],
    ["came without its content", [item("done", 0, empty)], 1],
    ["came whole at the place of the call", [whole], 0],
  ] as const)("a message that %s keeps its text, beside a call", async (_name, done, at) => {
    const called = [item("added", at, { ...call, arguments: "" }), item("done", at, call)];
    const answer = await answerTo([created, begun, hello, you, ...done, ...called, end]);
    expect(answer).toMatchObject({ message: { text: "Hello you.", toolCalls: [{ id: "c" }] } });
  });

  test("a message that never came whole keeps its text, beside reasoning", async () => {
    const thought = { type: "reasoning", id: "rs_1", summary: [] };
    const thoughts = [item("added", 1, thought), item("done", 1, thought)];
    expect(await answerTo([created, ...thoughts, begun, hello, you, end])).toMatchObject(said("Hello you."));
  });

  test("a search that the provider ran is no call that the items lack", async () => {
    const search = { id: "ws_1", type: "web_search_call", status: "completed", action: { type: "search", query: "a" } };
    const searched = [item("added", 1, { ...search, status: "in_progress" }), item("done", 1, search)];
    const answer = await answerTo([created, begun, you, ...searched, whole, end]);
    expect(answer).toMatchObject(said("Hello you."));
  });

  test("what the SDK refused is a loss, also if other items came whole", async () => {
    const refused = { ...hello, item_id: 7 };
    const answer = await answerTo([created, refused, item("added", 1, call), item("done", 1, call), end]);
    expect(answer).toMatchObject(garbled);
  });
});

test.each(["chat", "compatible"])(
  "AIS-17 the usage of a chunk, or an empty text for its reason, is no end: %s",
  async (name) => {
    const [, make] = wires[name] ?? [];
    if (make === undefined) throw new Error("There is no such wire.");
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    const call = { index: 0, id: "c", type: "function", function: { name: "look_up", arguments: '{"wo' } };
    for (const delta of [
      { content: "Hello" },
      { reasoning_content: "Let me" },
      { refusal: "I" },
      { tool_calls: [call] },
    ]) {
      for (const reason of [null, ""]) {
        const { answer } = await streamed(streaming([chunk(delta, reason, { usage })]), make);
        expect(answer).toMatchObject(cut);
      }
    }
    const hello = chunk({ content: "Hello" }, "");
    const whole = await streamed(streaming([hello, chunk({}, "length"), chunk({}, "")]), make);
    expect(whole.answer).toMatchObject(said("Hello", "length"));
  },
);

test("AIS-17 a stream that is cut behind its finish reason loses no call", async () => {
  // The SDK tells of a call only at the end of the stream.
  for (const given of ['{"word":"a"}', ""]) {
    const [begin, end] = [given.slice(0, 4), given.slice(4)];
    const call = { index: 0, id: "c", type: "function", function: { name: "look_up", arguments: begin } };
    const more = { index: 0, function: { arguments: end } };
    const events = [chunk({ tool_calls: [call] }), chunk({ tool_calls: [more] }), chunk({}, "tool_calls")];
    for (const name of ["chat", "compatible"]) {
      const [, make] = wires[name] ?? [];
      if (make === undefined) throw new Error("There is no such wire.");
      const { answer } = await streamed(streaming(events, "cut late"), make);
      const toolCalls = [{ id: "c", name: "look_up", arguments: given }];
      expect(answer).toMatchObject({ message: { toolCalls }, finishReason: "tool-calls" });
    }
  }
});
