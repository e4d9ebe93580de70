import { startSimulator } from "@proviso/simulator";
import { expect, test } from "vitest";
import { chat, errorOf, post, responses } from "./support.ts";

const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
const output = { type: "function_call_output", call_id: "c", output: "o" };
const user = { role: "user", content: "u" };

test.each([
  [{ input: "a", stop: "x" }, "Unknown parameter: 'stop'."],
  [{ input: "a", response_format: {} }, "Unknown parameter: 'response_format'."],
  [{}, "Missing required parameter: 'input'."],
  [{ input: 5 }, "Invalid type for 'input'"],
  [{ input: "a", temperature: 3 }, "Invalid 'temperature'"],
  [{ input: "a", max_output_tokens: 0 }, "Invalid 'max_output_tokens'"],
  [
    { input: [{ type: "function_call", call_id: "c", name: "f", arguments: "{}", extra: 1 }] },
    "Unknown parameter: 'input[0].extra'.",
  ],
  [
    { input: "a", tools: [{ type: "function", function: { name: "f" } }] },
    "Missing required parameter: 'tools[0].name'.",
  ],
  [{ input: "a", tools: [{ type: "function", name: "f g", parameters: {}, strict: false }] }, "Invalid 'tools[].name'"],
  [{ input: "a", tool_choice: { type: "function", name: "g" } }, "Tool choice 'g' not found"],
])("SIM-4 the Responses API refuses %j", async (body, message) => {
  await using simulator = await startSimulator();
  const answer = await responses(simulator, body);
  expect(answer.status).toBe(400);
  expect(errorOf(answer).message).toContain(message);
});

test.each(["constructor", "__proto__", "toString"])(
  "SIM-4 a role or a type that is named like a property of every object is a 400: %s",
  async (name) => {
    await using simulator = await startSimulator();
    const answers = [
      await chat(simulator, { messages: [{ role: name, content: "a" }] }),
      await responses(simulator, { input: [{ type: name }] }),
    ];
    for (const answer of answers) expect([answer.status, errorOf(answer).code]).toEqual([400, "invalid_value"]);
  },
);

test("SIM-4 a body that is not JSON, or not an object, is a 400", async () => {
  await using simulator = await startSimulator();
  expect((await post(simulator, "/responses", "{")).status).toBe(400);
  expect((await post(simulator, "/responses", "[]")).status).toBe(400);
});

test.each([
  [[user, call], "No tool output found for function call c."],
  [[user, output], "No tool call found for function call output with call_id c."],
  [[user, call, call, output], "Duplicate function call id: c."],
  [[user, { type: "reasoning", id: "rs_1", summary: [] }], "without its required following item"],
])("SIM-5 a broken history is refused: %j", async (input, message) => {
  await using simulator = await startSimulator();
  const answer = await responses(simulator, { input });
  expect(answer.status).toBe(400);
  expect(errorOf(answer).message).toContain(message);
});

test("SIM-5 a whole history is taken", async () => {
  await using simulator = await startSimulator();
  const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "x" };
  expect((await responses(simulator, { input: [user, reasoning, call, output] })).status).toBe(200);
});

const assistant = {
  role: "assistant",
  content: null,
  tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
};
const tool = { role: "tool", tool_call_id: "c", content: "o" };

test.each([
  [[user, assistant], "did not have response messages: c"],
  [[user, assistant, user], "did not have response messages: c"],
  [[user, tool], "must be a response to a preceeding message"],
  [[], "empty array"],
])("SIM-6 a broken history is refused: %j", async (messages, message) => {
  await using simulator = await startSimulator();
  const answer = await chat(simulator, { messages });
  expect(answer.status).toBe(400);
  expect(errorOf(answer).message).toContain(message);
});

test("SIM-6 a whole history is taken, an unknown parameter is not", async () => {
  await using simulator = await startSimulator();
  expect((await chat(simulator, { messages: [user, assistant, tool] })).status).toBe(200);
  expect((await chat(simulator, { messages: [user], input: "a" })).status).toBe(400);
});

test.each([
  [{ type: "object", properties: { a: { type: "string" } }, required: [], additionalProperties: false }, "Missing 'a'"],
  [{ type: "object", properties: {}, required: [] }, "'additionalProperties' is required"],
  [{ type: "array", items: {} }, "schema must be a JSON Schema of"],
  [
    { type: "object", properties: { a: { oneOf: [] } }, required: ["a"], additionalProperties: false },
    "'oneOf' is not permitted",
  ],
])("SIM-7 a strict schema has to be strict: %j", async (schema, message) => {
  await using simulator = await startSimulator();
  const answer = await responses(simulator, {
    input: "a",
    text: { format: { type: "json_schema", name: "o", schema, strict: true } },
  });
  expect([answer.status, errorOf(answer).code]).toEqual([400, "invalid_json_schema"]);
  expect(errorOf(answer).message).toContain(message);
  const loose = await responses(simulator, {
    input: "a",
    text: { format: { type: "json_schema", name: "o", schema, strict: false } },
  });
  expect(loose.status).toBe(200);
});
