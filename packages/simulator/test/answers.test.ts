import { startSimulator } from "@proviso/simulator";
import { expect, test } from "vitest";
import { chat, errorOf, post, responses } from "./support.ts";

test("SIM-1 a step is answered in the payload of either API", async () => {
  const step = { text: "hi", toolCalls: [{ name: "f", arguments: { a: 1 } }] };
  await using simulator = await startSimulator({ steps: [step, step] });
  const first = await responses(simulator, { input: "hello" });
  expect(first.body).toMatchObject({
    object: "response",
    status: "completed",
    model: "m",
    output: [
      { type: "message", content: [{ type: "output_text", text: "hi" }] },
      { type: "function_call", name: "f", arguments: '{"a":1}' },
    ],
  });
  const second = await chat(simulator, { messages: [{ role: "user", content: "hello" }] });
  expect(second.body).toMatchObject({
    object: "chat.completion",
    choices: [
      {
        finish_reason: "tool_calls",
        message: { content: "hi", tool_calls: [{ function: { name: "f", arguments: '{"a":1}' } }] },
      },
    ],
  });
});

test("SIM-1 a length, a filter and a refusal look as the service's do", async () => {
  await using simulator = await startSimulator({
    steps: [{ text: "cut", finishReason: "length" }, { refusal: "no" }, { text: "x", finishReason: "content_filter" }],
  });
  expect((await responses(simulator, { input: "a" })).body).toMatchObject({
    status: "incomplete",
    incomplete_details: { reason: "max_output_tokens" },
  });
  expect((await responses(simulator, { input: "a" })).body).toMatchObject({
    output: [{ content: [{ type: "refusal", refusal: "no" }] }],
  });
  expect((await chat(simulator, { messages: [{ role: "user", content: "a" }] })).body).toMatchObject({
    choices: [{ finish_reason: "content_filter" }],
  });
});

test("SIM-1 other paths and methods, and a stream that is no boolean, are refused", async () => {
  await using simulator = await startSimulator();
  expect((await post(simulator, "/embeddings", {})).status).toBe(404);
  expect((await fetch(`${simulator.baseURL}/responses`, { headers: { authorization: "Bearer k" } })).status).toBe(405);
  expect((await responses(simulator, { input: "a", stream: "yes" })).status).toBe(400);
});

test("SIM-1 reasoning is sent encrypted only to those who ask for it", async () => {
  const step = { text: "a", reasoning: "Hm." };
  await using simulator = await startSimulator({ steps: [step, step] });
  const reasoning = async (more: object) =>
    ((await responses(simulator, { input: "a", ...more })).body["output"] as object[])[0];
  expect(await reasoning({})).not.toHaveProperty("encrypted_content");
  expect(await reasoning({ include: ["reasoning.encrypted_content"] })).toHaveProperty("encrypted_content");
});

test("SIM-1 a summary of the reasoning is sent to those who ask for it, streamed as well", async () => {
  const step = { text: "a", reasoning: "I think of it." };
  await using simulator = await startSimulator({ steps: [step, step, step], chunkCharacters: 5 });
  const asked = { input: "a", reasoning: { summary: "auto" } };
  const { body } = await responses(simulator, asked);
  expect((body["output"] as object[])[0]).toMatchObject({
    summary: [{ type: "summary_text", text: "I think of it." }],
  });
  const none = await responses(simulator, { input: "a", reasoning: { summary: "none" } });
  expect((none.body["output"] as object[])[0]).toMatchObject({ summary: [] });
  const streamed = await fetch(`${simulator.baseURL}/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer key" },
    body: JSON.stringify({ ...asked, model: "m", stream: true }),
  });
  const deltas = [...(await streamed.text()).matchAll(/reasoning_summary_text.delta".*"delta":"([^"]*)"/g)];
  expect(deltas.map(([, delta]) => delta)).toEqual(["I thi", "nk of", " it."]);
});

test("SIM-5 an answer's items may be named afterwards, unless they were not to be stored", async () => {
  const call = { reasoning: "Hm.", toolCalls: [{ name: "f", arguments: { a: 1 } }] };
  await using simulator = await startSimulator({ steps: [call, { text: "done" }, call, { text: "again" }] });
  const tools = [{ type: "function", name: "f", strict: false, parameters: { type: "object", properties: {} } }];
  const asking = { role: "user", content: "a" };
  const goingOn = (output: readonly { id: string; call_id?: string }[]) => [
    asking,
    ...output.map(({ id }) => ({ type: "item_reference", id })),
    { type: "function_call_output", call_id: output.at(-1)?.call_id, output: "1" },
  ];
  const first = await responses(simulator, { input: [asking], tools });
  const second = await responses(simulator, { input: goingOn(first.body["output"] as never), tools });
  expect(second.status).toBe(200);
  expect(JSON.stringify(second.body["output"])).toContain("done");
  const third = await responses(simulator, { input: [asking], tools, store: false });
  const fourth = await responses(simulator, { input: goingOn(third.body["output"] as never), tools });
  expect([fourth.status, errorOf(fourth).message]).toEqual([404, expect.stringContaining("not found")]);
});

test("SIM-1 a response repeats what was asked for", async () => {
  await using simulator = await startSimulator();
  const asked = { metadata: { run: "7" }, truncation: "auto", user: "u", service_tier: "flex", max_tool_calls: 3 };
  expect((await responses(simulator, { input: "a", ...asked })).body).toMatchObject(asked);
  expect((await responses(simulator, { input: "a" })).body).toMatchObject({ metadata: {}, service_tier: "default" });
});

test("SIM-2 a request beyond the script, and steps beside rules, are refused", async () => {
  await using simulator = await startSimulator({ steps: [{ text: "one" }] });
  expect((await responses(simulator, { input: "a" })).status).toBe(200);
  const second = await responses(simulator, { input: "a" });
  expect([second.status, errorOf(second).code]).toEqual([400, "simulator_script_exhausted"]);
  await expect(startSimulator({ steps: [], rules: [] })).rejects.toThrow(TypeError);
});

test("SIM-2 a step can be an HTTP answer as it is", async () => {
  await using simulator = await startSimulator({
    steps: [{ status: 429, headers: { "retry-after": "1" }, body: { error: { message: "slow down" } } }],
  });
  const answer = await responses(simulator, { input: "a" });
  expect([answer.status, answer.headers.get("retry-after"), errorOf(answer).message]).toEqual([429, "1", "slow down"]);
});

test("SIM-3 the first rule that answers wins, the fallback answers the rest, a rule that throws is a 500", async () => {
  await using simulator = await startSimulator({
    rules: [
      ({ system }) => (system === "mine" ? { text: "mine" } : undefined),
      ({ messages }) => {
        if (messages.some(({ text }) => text === "boom")) throw new Error("rule broke");
        return undefined;
      },
    ],
  });
  const said = async (input: unknown): Promise<unknown> => (await responses(simulator, { input })).body["output"];
  expect(await said([{ role: "system", content: "mine" }])).toMatchObject([{ content: [{ text: "mine" }] }]);
  expect(await said("hello")).toMatchObject([{ content: [{ text: "You said: hello" }] }]);
  const broken = await responses(simulator, { input: "boom" });
  expect([broken.status, errorOf(broken).message]).toEqual([500, "rule broke"]);
});

test("SIM-3 a rule sees the same request whichever API it came by", async () => {
  const seen: unknown[] = [];
  await using simulator = await startSimulator({
    rules: [
      ({ system, messages, toolResults }) => {
        seen.push({ system, roles: messages.map(({ role }) => role), results: toolResults() });
        return { text: "ok" };
      },
    ],
  });
  await responses(simulator, {
    input: [
      { role: "system", content: "s" },
      { role: "user", content: "u" },
      { type: "function_call", call_id: "c", name: "f", arguments: '{"a":1}' },
      { type: "function_call_output", call_id: "c", output: "done" },
    ],
  });
  await chat(simulator, {
    messages: [
      { role: "system", content: "s" },
      { role: "user", content: "u" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: '{"a":1}' } }],
      },
      { role: "tool", tool_call_id: "c", content: "done" },
    ],
  });
  expect(seen[0]).toEqual({
    system: "s",
    roles: ["system", "user", "assistant", "tool"],
    results: [{ callId: "c", name: "f", arguments: { a: 1 }, text: "done" }],
  });
  expect(seen[1]).toEqual(seen[0]);
});

test("SIM-3 the text and the calls of one answer are one message, whichever API it came by", async () => {
  const seen: unknown[] = [];
  await using simulator = await startSimulator({
    rules: [({ messages }) => (seen.push(messages), { text: "ok" })],
  });
  const results = ["c1", "c2"].map((id) => ({ type: "function_call_output", call_id: id, output: "r" }));
  await responses(simulator, {
    input: [
      { role: "user", content: "u" },
      { role: "assistant", content: "I look." },
      { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
      { type: "function_call", call_id: "c2", name: "f", arguments: "{}" },
      ...results,
      { type: "function_call", call_id: "c3", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c3", output: "r" },
    ],
  });
  const called = (...ids: readonly string[]) =>
    ids.map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } }));
  await chat(simulator, {
    messages: [
      { role: "user", content: "u" },
      { role: "assistant", content: "I look.", tool_calls: called("c1", "c2") },
      { role: "tool", tool_call_id: "c1", content: "r" },
      { role: "tool", tool_call_id: "c2", content: "r" },
      { role: "assistant", content: null, tool_calls: called("c3") },
      { role: "tool", tool_call_id: "c3", content: "r" },
    ],
  });
  expect(seen[0]).toEqual(seen[1]);
});

test("SIM-3 the fallback makes an instance of the output schema", async () => {
  await using simulator = await startSimulator();
  const schema = {
    type: "object",
    properties: {
      a: { type: "string" },
      b: { type: "array", items: { enum: ["x", "y"] } },
      c: { type: ["number", "null"] },
    },
    required: ["a", "b", "c"],
    additionalProperties: false,
  };
  const format = { type: "json_schema", name: "out", schema, strict: true };
  const { body } = await responses(simulator, { input: "hello", text: { format } });
  expect(body["output"]).toMatchObject([{ content: [{ text: '{"a":"hello","b":["x"],"c":0}' }] }]);
});

test("SIM-8 more text costs more tokens, on both sides", async () => {
  await using simulator = await startSimulator({ steps: [{ text: "a" }, { text: "a".repeat(400) }] });
  const small = (await responses(simulator, { input: "a" })).body["usage"] as Record<string, number>;
  const large = (await responses(simulator, { input: "a".repeat(4_000) })).body["usage"] as Record<string, number>;
  // 3,999 characters more, four to a token.
  expect((large["input_tokens"] ?? 0) - (small["input_tokens"] ?? 0)).toBeGreaterThanOrEqual(999);
  expect((large["input_tokens"] ?? 0) - (small["input_tokens"] ?? 0)).toBeLessThanOrEqual(1_000);
  expect(large["output_tokens"]).toBe(100);
  expect(large["total_tokens"]).toBe((large["input_tokens"] ?? 0) + (large["output_tokens"] ?? 0));
});

test("SIM-9 requests are logged without their key; SIM-10 keys are checked and masked", async () => {
  await using simulator = await startSimulator({ apiKey: "right-key-123456", steps: [{ text: "a" }] });
  const wrong = await post(simulator, "/responses", { model: "m", input: "a" }, "wrong-key-123456");
  expect([wrong.status, errorOf(wrong).code]).toEqual([401, "invalid_api_key"]);
  expect(errorOf(wrong).message).not.toContain("wrong-key-123456");
  const missing = await post(simulator, "/responses", { model: "m", input: "a" }, null);
  expect([missing.status, errorOf(missing).code]).toEqual([401, null]);
  expect((await post(simulator, "/responses", { model: "m", input: "a" }, "right-key-123456")).status).toBe(200);
  expect(simulator.requests.map(({ status }) => status)).toEqual([401, 401, 200]);
  expect(simulator.requests[2]).toMatchObject({
    api: "responses",
    method: "POST",
    path: "/v1/responses",
    body: { input: "a" },
  });
  expect(JSON.stringify(simulator.requests)).not.toContain("key-123456");
});

test("SIM-11 an answer waits for its latency, and close ends the wait", async () => {
  const simulator = await startSimulator({ latencyMs: 60_000, steps: [{ text: "a" }] });
  const asked = responses(simulator, { input: "a" }).then(
    () => "answered",
    () => "cut",
  );
  await new Promise((resolve) => setTimeout(resolve, 30));
  await simulator.close();
  expect(await asked).toBe("cut");
  await simulator.close();
});

test("SIM-27 a conversation that began with another simulator goes on: no call has the id of another", async () => {
  const step = { toolCalls: [{ name: "f" }, { name: "f" }] };
  const messages: object[] = [{ role: "user", content: "a" }];
  const input: object[] = [{ role: "user", content: "a" }];
  const ids: unknown[] = [];
  for (let round = 0; round < 3; round++) {
    // Each is new, and would begin to count anew.
    await using simulator = await startSimulator({ steps: [step, step] });
    const asked = await chat(simulator, { messages });
    expect(asked).toMatchObject({ status: 200 });
    const [{ message }] = asked.body["choices"] as [{ message: { tool_calls: { id: string }[] } }];
    messages.push({ role: "assistant", tool_calls: message.tool_calls });
    messages.push(...message.tool_calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "b" })));
    ids.push(...message.tool_calls.map(({ id }) => id));
    const answered = await responses(simulator, { input });
    expect(answered.status).toBe(200);
    for (const item of answered.body["output"] as { call_id: string }[]) {
      input.push(item, { type: "function_call_output", call_id: item.call_id, output: "b" });
    }
  }
  expect(new Set(ids).size).toBe(6);
});
