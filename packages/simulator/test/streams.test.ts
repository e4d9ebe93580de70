import { startSimulator, type AnswerStep } from "@proviso/simulator";
import { expect, test } from "vitest";

interface Event {
  readonly name: string | undefined;
  readonly data: Record<string, unknown> | "[DONE]";
}

async function stream(api: "responses" | "chat", step: AnswerStep, more: object = {}) {
  await using simulator = await startSimulator({ steps: [step, step] });
  const path = api === "responses" ? "responses" : "chat/completions";
  const send = async (extra: object) =>
    fetch(`${simulator.baseURL}/${path}`, {
      method: "POST",
      headers: { authorization: "Bearer key" },
      body: JSON.stringify({
        model: "m",
        ...(api === "responses" ? { input: "Hi" } : { messages: [{ role: "user", content: "Hi" }] }),
        ...extra,
      }),
    });
  const response = await send({ stream: true, ...more });
  const type = response.headers.get("content-type");
  const events = (await response.text())
    .split("\n\n")
    .filter((block) => block !== "")
    .map((block): Event => {
      const name = /^event: (.*)$/m.exec(block)?.[1];
      const data = /^data: (.*)$/m.exec(block)?.[1] ?? "";
      return { name, data: data === "[DONE]" ? data : (JSON.parse(data) as Record<string, unknown>) };
    });
  const json = (await (await send({})).json()) as Record<string, never>;
  return { type, events, json };
}

const step: AnswerStep = {
  text: "Grüße, 😀 and more text than fits a chunk.",
  reasoning: "Hm.",
  toolCalls: [
    { name: "a", arguments: { x: "1234567890123456789" }, id: "c1" },
    { name: "b", id: "c2" },
  ],
};

test("SIM-13 Responses stream the answer that they would give as JSON, with gap-free sequence numbers", async () => {
  const { type, events, json } = await stream("responses", step);
  expect(type).toBe("text/event-stream; charset=utf-8");
  const data = events.map((event) => event.data as Record<string, unknown>);
  expect(events.map(({ name }) => name)).toEqual(data.map((one) => one["type"]));
  expect(data.map((one) => one["sequence_number"])).toEqual(data.map((_, index) => index));
  expect(data[0]?.["type"]).toBe("response.created");
  const last = data.at(-1) as { readonly type: string; readonly response: Record<string, unknown> };
  expect(last.type).toBe("response.completed");
  const anonymous = (output: unknown) =>
    JSON.parse(JSON.stringify(output).replaceAll(/"id":"[^"]*"/g, '"id":""')) as unknown;
  expect(anonymous(last.response["output"])).toEqual(anonymous(json["output"]));
  const joined = (kind: string) =>
    data.flatMap((one) => (one["type"] === kind ? [one["delta"] as string] : [])).join("");
  expect(joined("response.output_text.delta")).toBe(step.text);
  expect(joined("response.function_call_arguments.delta")).toBe('{"x":"1234567890123456789"}{}');
  for (const delta of data.flatMap((one) => (typeof one["delta"] === "string" ? [one["delta"]] : []))) {
    expect(delta.isWellFormed()).toBe(true);
  }
});

test("SIM-13 Chat Completions stream chunks, the usage when asked for, and [DONE]", async () => {
  for (const asked of [true, false]) {
    const { events, json } = await stream("chat", step, asked ? { stream_options: { include_usage: true } } : {});
    expect(events.at(-1)?.data).toBe("[DONE]");
    const chunks = events.slice(0, -1).map((event) => event.data as { choices: { delta: Record<string, never> }[] });
    const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
    expect(deltas.flatMap((delta) => (typeof delta["content"] === "string" ? [delta["content"]] : [])).join("")).toBe(
      step.text,
    );
    const calls = deltas.flatMap((delta) => (delta["tool_calls"] ?? []) as { index: number; id?: string }[]);
    expect(calls.flatMap(({ id }) => (id === undefined ? [] : [id]))).toEqual(["c1", "c2"]);
    const usages = chunks.flatMap((chunk) => ("usage" in chunk && chunk.usage !== null ? [chunk.usage] : []));
    expect(usages).toEqual(asked ? [json["usage"]] : []);
  }
});

test("SIM-13 deltas of a text and its end have the fields that the API's types demand", async () => {
  const { events } = await stream("responses", { text: "Hello." });
  for (const name of ["response.output_text.delta", "response.output_text.done"]) {
    const event = events.find((one) => one.name === name)?.data;
    expect(event).toMatchObject({ logprobs: [], content_index: 0, output_index: 0, item_id: expect.any(String) });
  }
});

test("SIM-13 an error in the middle of a stream goes on with the sequence numbers", async () => {
  const { events } = await stream("responses", { text: "Hello.", fault: "stream_error_midway" });
  const data = events.map((event) => event.data as Record<string, unknown>);
  expect(data.at(-1)?.["type"]).toBe("error");
  expect(data.map((one) => one["sequence_number"])).toEqual(data.map((_, index) => index));
});

test("SIM-13 a chat stream has one id throughout, with the service's prefix", async () => {
  const { events, json } = await stream("chat", step);
  const chunks = events.slice(0, -1).map((event) => event.data as Record<string, unknown>);
  expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  for (const id of [chunks[0]?.["id"], json["id"]]) expect(id).toMatch(/^chatcmpl-/);
});

test("SIM-13 a call of a function that was forced by name ends with stop, as the service ends it", async () => {
  const tools = [{ type: "function", function: { name: "f", parameters: {} } }];
  const named = { type: "function", function: { name: "f" } };
  for (const [tool_choice, reason] of [
    [named, "stop"],
    ["required", "tool_calls"],
  ] as const) {
    const { events } = await stream("chat", { toolCalls: [{ name: "f" }] }, { tools, tool_choice });
    const chunks = events.slice(0, -1).map((event) => event.data as { choices: { finish_reason: string | null }[] });
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe(reason);
  }
});

test("SIM-13 refusals, truncations and failures end a stream as the service ends it", async () => {
  const last = async (given: AnswerStep) => (await stream("responses", given)).events.at(-1)?.name;
  expect(await last({ refusal: "No." })).toBe("response.completed");
  expect(await last({ text: "cut", finishReason: "length" })).toBe("response.incomplete");
  expect(await last({ text: "x", fault: "status_failed" })).toBe("response.failed");
});
