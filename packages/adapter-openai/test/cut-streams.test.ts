import { openai, openaiModel } from "@proviso/adapter-openai";
import { answerOf, lookUp, requestOf } from "@proviso/fault-matrix/requests";
import { expect, test } from "vitest";

type Api = "responses" | "chat";
const usage = { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 };
const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) =>
  event({ id: "c", model: "m", choices: [{ index: 0, delta, finish_reason }], ...more });

/** Gives one body after the other, and counts the requests. */
function answering(...bodies: readonly string[]) {
  let asked = 0;
  const headers = { "content-type": "text/event-stream" };
  const fetch = async () => new Response(bodies[asked++], { headers });
  return { fetch, asked: () => asked };
}
const common = { model: "m", apiKey: "sk-test", throttle: { baseDelayMs: 1 } } as const;
const streamed = async (api: Api, body: string) => {
  const texts: string[] = [];
  const onDelta = (delta: object): void => void ("text" in delta && texts.push(String(delta.text)));
  const { fetch } = answering(body);
  const model = openaiModel({ model: "m", apiKey: "sk-test", api, fetch });
  return { answer: await model.generate(requestOf({ tools: [lookUp], onDelta })), text: texts.join("") };
};
const cut = { failure: "throttle", kind: "unknown" };

test.each([
  ["text", { content: "Half an" }],
  [
    "a call",
    { tool_calls: [{ index: 0, id: "x", type: "function", function: { name: "look_up", arguments: '{"a"' } }] },
  ],
  ["thoughts", { reasoning_content: "Let me" }],
  ["a refusal", { refusal: "I can" }],
  ["nothing yet", { role: "assistant", content: "" }],
])(
  "OAI-10 THR-1 a stream of Chat that is cut within %s is asked again, whatever its chunks say of usage",
  async (_, delta) => {
    const whole = chunk({ content: "All of it." }) + chunk({}, "stop", { usage });
    for (const more of [{}, { usage }]) {
      const service = answering(chunk(delta, null, more), whole);
      const { output } = await openai({ ...common, api: "chat", fetch: service.fetch }).stream("Say it.").response;
      expect([output, service.asked()]).toEqual(["All of it.", 2]);
    }
  },
);

test("OAI-10 Chat: a usage without any choice is an answer without a message, which is not asked for again", async () => {
  const { answer } = await streamed("chat", event({ id: "c", choices: [], usage }) + "data: [DONE]\n\n");
  expect(answer).toMatchObject({ failure: "provider", reason: "invalid_response" });
});

test("OAI-10 OAI-12 Chat: an empty text for a finish reason is none, streamed or not", async () => {
  const begun = chunk({ content: "Paris" }, "") + chunk({ content: " it is." }, "");
  const { answer, text } = await streamed("chat", begun + chunk({}, "length"));
  expect(answer).toMatchObject({ message: { text: "Paris it is." }, finishReason: "length" });
  expect(text).toBe("Paris it is.");
  expect((await streamed("chat", begun)).answer).toMatchObject(cut);
  const body = { choices: [{ message: { content: "Paris" }, finish_reason: "" }] };
  const fetch = async () => Response.json(body);
  const model = openaiModel({ model: "m", apiKey: "sk-test", api: "chat", fetch });
  expect(answerOf(await model.generate(requestOf())).finishReason).toBe("stop");
});

test.each([null, ""])(
  "OAI-10 Chat: a choice that broke is the error that it names, with the finish reason %j",
  async (reason) => {
    const broken = { index: 0, delta: {}, finish_reason: reason, error: { code: 503, message: "Overloaded." } };
    const sent = chunk({ content: "Half an" }) + event({ id: "c", choices: [broken] }) + event({ choices: [], usage });
    const { answer } = await streamed("chat", sent);
    expect(answer).toMatchObject({ failure: "throttle", kind: "server_error", message: "Overloaded." });
  },
);

test.each([0, 1, 5])(
  "OAI-12 a gap of %s numbers loses nothing of an answer whose last event leaves its items out",
  async (gap) => {
    const content = [{ type: "output_text", text: "Paris" }];
    const call = { type: "function_call", call_id: "c", name: "look_up", arguments: "{}" };
    const events = [
      { type: "response.created", response: { status: "in_progress" } },
      { type: "response.output_text.delta", delta: "Paris" },
      { type: "response.output_item.done", output_index: 0, item: { type: "message", content } },
      { type: "response.output_item.done", output_index: 1, item: call },
      { type: "response.completed", response: { status: "completed", output: [] } },
    ];
    const numbered = events.map((one, place) => event({ ...one, sequence_number: place === 0 ? 0 : place + gap }));
    const { answer, text } = await streamed("responses", numbered.join(""));
    expect(answer).toMatchObject({ message: { text: "Paris", toolCalls: [{ id: "c" }] } });
    expect(text).toBe("Paris");
  },
);

test.each([{ id: "m1" }, {}])("OAI-12 items at the same place do not push each other out: %j", async (named) => {
  const content = [{ type: "output_text", text: "Paris" }];
  const call = { type: "function_call", call_id: "c", name: "look_up", arguments: "{}" };
  const items = [{ type: "message", ...named, content }, call, { ...call, call_id: "d" }, call];
  const done = items.map((item) => event({ type: "response.output_item.done", output_index: 0, item }));
  const end = event({ type: "response.completed", response: { status: "completed", output: [] } });
  const { answer } = await streamed("responses", done.join("") + end);
  expect(answerOf(answer).message).toMatchObject({ text: "Paris", toolCalls: [{ id: "c" }, { id: "d" }] });
});
