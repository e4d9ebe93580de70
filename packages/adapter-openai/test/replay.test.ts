import { parseMessages, type AssistantMessage } from "@proviso/core";
import { answerOf, requestOf } from "@proviso/fault-matrix/requests";
import { expect, test } from "vitest";
import { fromResponses } from "../src/from-responses.ts";
import { fixture } from "./support/fixture.ts";
import { toChat, toResponses } from "./support/bodies.ts";

const options = { model: "m", api: "responses" } as const;

function inputOf(message: AssistantMessage): unknown {
  return toResponses(options, requestOf({ messages: [message] }))["input"];
}

test("LOOP-2 an answer with reasoning is replayed item by item, as it came", () => {
  const body = fixture("responses-tool-calls");
  const { message } = answerOf(fromResponses(body, {}));
  expect(JSON.stringify(inputOf(message))).toBe(JSON.stringify(body["output"]));
});

test("LOOP-2 reasoning is followed by its own item, of a type that is not known too", () => {
  const body = fixture("responses-tool-calls");
  (body["output"] as unknown[]).splice(1, 0, { id: "ws_01", type: "web_search_call", status: "completed" });
  const { message } = answerOf(fromResponses(body, {}));
  expect(inputOf(message)).toEqual(body["output"]);
});

test("LOOP-2 replayed items survive being stored as JSON", () => {
  const { message } = answerOf(fromResponses(fixture("responses-tool-calls"), {}));
  const stored: unknown = JSON.parse(JSON.stringify([{ ...message, toolCalls: message.toolCalls }]));
  const [kept] = [stored].map((json) => (json as AssistantMessage[])[0]);
  expect(kept).toEqual(message);
  const answered = message.toolCalls.map(({ id }) => ({
    role: "tool",
    callId: id,
    name: "look_up",
    text: "",
    isError: false,
  }));
  expect(parseMessages([kept, ...answered])[0]).toEqual(message);
});

test("LOOP-2 items of another provider or of the other API are passed over", () => {
  const text = { role: "assistant", text: "Yes.", toolCalls: [] } as const;
  for (const providerItems of [
    { api: "other", items: [{ type: "x" }] },
    "x",
    [1],
    { api: "openai.responses", items: 5 },
  ]) {
    expect(inputOf({ ...text, providerItems })).toEqual([{ role: "assistant", content: "Yes." }]);
  }
  const { message } = answerOf(fromResponses(fixture("responses-tool-calls"), {}));
  const [chat] = toChat({ model: "m", api: "chat" }, requestOf({ messages: [message] }))["messages"] as unknown[];
  expect(Object.keys(chat as object)).toEqual(["role", "content", "tool_calls"]);
});

test("LOOP-3 items whose calls are no longer the message's are rebuilt from it", () => {
  const { message } = answerOf(fromResponses(fixture("responses-tool-calls"), {}));
  const toolCalls = message.toolCalls.map((call, at) => ({ ...call, id: `new_${at}` }));
  const calls = (inputOf({ ...message, toolCalls }) as Record<string, unknown>[]).flatMap(
    (item) => item["call_id"] ?? [],
  );
  expect(calls).toEqual(["new_0", "new_1"]);
});
