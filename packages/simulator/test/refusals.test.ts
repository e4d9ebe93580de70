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
  [
    { input: "a", tools: [{ type: "function", name: "f g", parameters: {}, strict: false }] },
    "Invalid 'tools[0].name'",
  ],
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
  [
    [user, { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "x" }],
    "without its required following item",
  ],
])("SIM-5 a broken history is refused: %j", async (input, message) => {
  await using simulator = await startSimulator();
  const answer = await responses(simulator, { input });
  expect(answer.status).toBe(400);
  expect(errorOf(answer).message).toContain(message);
});

test.each([
  [{ input: "a", max_output_tokens: 15 }, "integer_below_min_value", "max_output_tokens"],
  [{ input: "a", previous_response_id: "resp_1" }, "previous_response_not_found", "previous_response_id"],
  [{ input: "a", background: true }, "simulator_not_supported", "background"],
  [{ input: "a", conversation: "conv_1" }, "simulator_not_supported", "conversation"],
  [{ input: "a", prompt: { id: "pmpt_1" } }, "simulator_not_supported", "prompt"],
  [{ input: [{ ...call, id: "call_1" }, output] }, "invalid_value", "input[0].id"],
  [{ input: [{ role: "user", content: "a", id: "m1" }] }, "invalid_value", "input[0].id"],
  [{ input: [{ ...call, call_id: "c".repeat(65) }] }, "string_above_max_length", "input[0].call_id"],
  [{ input: [{ ...call, call_id: "" }] }, "empty_string", "input[0].call_id"],
  [{ input: "a", text: { format: { type: "json_object" } } }, null, "input"],
  [{ input: "a", text: { format: { type: "xml" } } }, "invalid_value", "text.format.type"],
  [
    { input: "a", text: { format: { type: "json_schema", name: "a.b", schema: {} } } },
    "invalid_value",
    "text.format.name",
  ],
  [
    { input: "a", tools: [{ type: "function", name: "f".repeat(65), parameters: {}, strict: false }] },
    "string_above_max_length",
    "tools[0].name",
  ],
])("SIM-4 the Responses API refuses %j with its code and field", async (body, code, param) => {
  await using simulator = await startSimulator();
  const answer = await responses(simulator, body);
  expect([answer.status, errorOf(answer).code, errorOf(answer).param]).toEqual([400, code, param]);
});

const users = { messages: [user] };

test.each([
  [{ ...users, tools: [] }, "empty_array", "tools"],
  [{ messages: [user, { role: "assistant", content: "a", tool_calls: [] }] }, "empty_array", "messages[1].tool_calls"],
  [{ ...users, n: 2 }, "simulator_not_supported", "n"],
  [{ ...users, functions: [{ name: "f" }] }, "simulator_not_supported", "functions"],
  [{ ...users, max_completion_tokens: 0 }, "integer_below_min_value", "max_completion_tokens"],
  [{ ...users, response_format: { type: "json_object" } }, null, "messages"],
  [{ ...users, response_format: { type: "xml" } }, "invalid_value", "response_format.type"],
  [
    { ...users, response_format: { type: "json_schema", json_schema: { name: "a b", schema: {} } } },
    "invalid_value",
    "response_format.json_schema.name",
  ],
  [{ ...users, tools: [{ type: "function", function: { name: "f g" } }] }, "invalid_value", "tools[0].function.name"],
])("SIM-4 Chat Completions refuse %j with their code and field", async (body, code, param) => {
  await using simulator = await startSimulator();
  const answer = await chat(simulator, body);
  expect([answer.status, errorOf(answer).code, errorOf(answer).param]).toEqual([400, code, param]);
});

test.each([
  [{ input: [{ type: "item_reference", id: "msg_1" }] }],
  [{ input: [{ type: "reasoning", id: "rs_1", summary: [] }, call, output] }],
  [{ store: false, input: [{ type: "reasoning", id: "rs_1", summary: [] }, call, output] }],
])("SIM-5 an item that was not kept is not found: %j", async (body) => {
  await using simulator = await startSimulator();
  const answer = await responses(simulator, body);
  expect([answer.status, errorOf(answer).param]).toEqual([404, "input"]);
  expect(errorOf(answer).message).toMatch(/^Item with id '(msg|rs)_1' not found/);
});

test("SIM-4 what is at the limit is taken", async () => {
  await using simulator = await startSimulator();
  const long = { ...call, id: "fc_1", call_id: "c".repeat(64) };
  const input = [user, long, { ...output, call_id: long.call_id }];
  expect((await responses(simulator, { input, max_output_tokens: 16, tools: [], background: false })).status).toBe(200);
  const format = { response_format: { type: "json_object" }, messages: [{ role: "user", content: "In JSON." }] };
  expect((await chat(simulator, { ...format, n: 1 })).status).toBe(200);
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
  [[user, assistant, user, tool], "did not have response messages: c"],
  [[user, assistant, assistant, tool], "did not have response messages: c"],
  [[user, assistant, { role: "system", content: "s" }, tool], "did not have response messages: c"],
  [[user, tool], "must be a response to a preceeding message"],
  [[user, assistant, tool, tool], "must be a response to a preceeding message"],
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

const looksAhead = { type: "object", properties: { mail: { type: "string", pattern: "^(?!a)" } } };

test.each([true, false])("SIM-7 a pattern that looks around is refused, strict: %j", async (strict) => {
  await using simulator = await startSimulator();
  const text = { format: { type: "json_schema", name: "o", schema: looksAhead, strict } };
  const tools = [{ type: "function", name: "t", parameters: looksAhead, strict }];
  for (const answer of [
    await responses(simulator, { input: "a", text }),
    await responses(simulator, { input: "a", tools }),
  ]) {
    expect([answer.status, errorOf(answer).code]).toEqual([400, "invalid_json_schema"]);
    expect(errorOf(answer).message).toContain("not supported. Found at $.properties.mail.pattern.");
  }
});

test("SIM-7 an output names no keys; a property may be called so, and a tool's input may", async () => {
  await using simulator = await startSimulator();
  const record = { type: "object", propertyNames: { type: "string" }, additionalProperties: { type: "string" } };
  const asked = (schema: object) => ({ format: { type: "json_schema", name: "o", schema, strict: false } });
  const answer = await responses(simulator, { input: "a", text: asked({ type: "object", properties: { x: record } }) });
  expect([answer.status, errorOf(answer).code]).toEqual([400, "invalid_json_schema"]);
  expect(errorOf(answer).message).toContain("In context=('properties', 'x'), 'propertyNames' is not permitted.");
  const property = { type: "object", properties: { propertyNames: { type: "string" } } };
  expect((await responses(simulator, { input: "a", text: asked(property) })).status).toBe(200);
  const tools = [{ type: "function", name: "t", parameters: record, strict: false }];
  expect((await responses(simulator, { input: "a", tools })).status).toBe(200);
});
