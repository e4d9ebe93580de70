import { openai, openaiModel } from "@proviso/adapter-openai";
import { definePrompt, defineTool } from "@proviso/core";
import { startSimulator } from "@proviso/simulator";
import { expect, test } from "vitest";
import { z } from "zod";

const apis = ["responses", "chat"] as const;
const words = definePrompt({
  ns: "tests",
  key: "words",
  output: z.array(z.string()),
  sections: [{ key: "ask", text: "List words.", role: "user" }],
});
const count = definePrompt({
  ns: "tests",
  key: "count",
  output: z.number(),
  sections: [{ key: "ask", text: "Count.", role: "user" }],
});

test.each(apis)(
  "OUT-3 over api %s arrays and values are wrapped on the wire, and taken bare or wrapped",
  async (api) => {
    await using simulator = await startSimulator({
      steps: [{ output: { items: ["a"] } }, { output: ["b"] }, { output: { value: 3 } }, { output: 4 }],
    });
    const adapter = openai({ model: "gpt-test", api, apiKey: "sk-test", baseURL: simulator.baseURL });
    expect((await adapter.evaluate(words.bind({}))).output).toEqual(["a"]);
    expect((await adapter.evaluate(words.bind({}))).output).toEqual(["b"]);
    expect((await adapter.evaluate(count.bind({}))).output).toBe(3);
    expect((await adapter.evaluate(count.bind({}))).output).toBe(4);
    expect(JSON.stringify(simulator.requests[0]?.body)).toContain('"required":["items"]');
  },
);

test.each(apis)(
  "OUT-6 over api %s nativeOutput: false puts the schema into the text, and nowhere else",
  async (api) => {
    await using simulator = await startSimulator({ steps: [{ text: "Here:\n```json\n3\n```" }] });
    const options = { model: "gpt-test", api, apiKey: "sk-test", baseURL: simulator.baseURL, nativeOutput: false };
    expect(openaiModel(options).capabilities).toMatchObject({ tools: true, nativeOutput: false });
    expect((await openai(options).evaluate(count.bind({}))).output).toBe(3);
    const body = simulator.requests[0]?.body;
    expect(body).not.toHaveProperty("text");
    expect(body).not.toHaveProperty("response_format");
    expect(JSON.stringify(body)).toContain("JSON Schema");
  },
);

const lookUp = defineTool({
  name: "look_up",
  description: "Looks a word up.",
  input: z.object({ word: z.string(), language: z.string().optional() }),
  execute: ({ word }) => `${word}: found`,
});
const ask = definePrompt({
  ns: "tests",
  key: "ask",
  sections: [{ key: "ask", text: "Look a up.", role: "user", tools: [lookUp] }],
});

test("LOOP-2 with store: false encrypted reasoning is asked for and sent back before its call", async () => {
  await using simulator = await startSimulator({
    steps: [{ reasoning: "look", toolCalls: [{ name: "look_up", arguments: { word: "a" } }] }, { text: "Found." }],
  });
  const { baseURL } = simulator;
  const adapter = openai({ model: "gpt-test", api: "responses", apiKey: "sk-test", baseURL, store: false });
  expect((await adapter.evaluate(ask.bind({}))).text).toBe("Found.");
  const [first, second] = simulator.requests.map(
    ({ body }) => body as { include: unknown; input: { type?: string }[] },
  );
  expect(first?.include).toEqual(["reasoning.encrypted_content"]);
  expect(second?.input.map(({ type }) => type)).toEqual([
    undefined,
    "reasoning",
    "function_call",
    "function_call_output",
  ]);
  expect(second?.input[1]).toHaveProperty("encrypted_content");
});

const lost = { providerOptions: { openai: { store: false } } } as const;

test.each([
  ["of the evaluation", {}, lost],
  ["of its extraBody", {}, { providerOptions: { openai: { extraBody: { store: false } } } }],
  ["of the adapter", { store: false }, {}],
  ["of the adapter's extraBody", { extraBody: { store: false } }, {}],
] as const)("LOOP-2 RSN-3 what was stored is not named with the store: false %s", async (_, options, settings) => {
  await using simulator = await startSimulator({
    steps: [
      { reasoning: "look", toolCalls: [{ name: "look_up", arguments: { word: "a" } }] },
      { reasoning: "say", text: "Found." },
      { reasoning: "again", text: "Again." },
      { text: "And again." },
    ],
  });
  const given = { model: "gpt-test", api: "responses", apiKey: "sk-test", baseURL: simulator.baseURL } as const;
  const first = await openai(given).evaluate(ask.bind({}));
  const messages = JSON.parse(JSON.stringify(first.messages)) as typeof first.messages;
  const adapter = openai({ ...given, ...options });
  const second = await adapter.evaluate("And again?", { messages, settings });
  expect(second.text).toBe("Again.");
  const { input } = (simulator.requests[2]?.body ?? {}) as {
    input: { type?: string; content?: string; id?: string }[];
  };
  expect(input.map(({ type, content }) => type ?? content)).toEqual([
    "Look a up.",
    "function_call",
    "function_call_output",
    "Found.",
    "And again?",
  ]);
  expect(input.some(({ id }) => id !== undefined)).toBe(false);
  // Where the service may look up what it stored, it is named again.
  expect((await openai(given).evaluate("And now?", { messages })).text).toBe("And again.");
  const { input: named } = (simulator.requests[3]?.body ?? {}) as { input: { type?: string }[] };
  expect(named.filter(({ type }) => type === "reasoning")).toHaveLength(2);
});

test.each(apis)("THR-1 over api %s a 429 delays a turn and nothing more", async (api) => {
  const refusal = { status: 429, headers: { "retry-after-ms": "1" }, body: { error: { message: "Slow down." } } };
  await using simulator = await startSimulator({
    steps: [refusal, { toolCalls: [{ name: "look_up", arguments: { word: "a" } }] }, refusal, { text: "Found." }],
  });
  const throttle = { baseDelayMs: 1 };
  const adapter = openai({ model: "gpt-test", api, apiKey: "sk-test", baseURL: simulator.baseURL, throttle });
  const { text, toolResults } = await adapter.evaluate(ask.bind({}));
  expect(text).toBe("Found.");
  expect(toolResults).toHaveLength(1);
  expect(simulator.requests.map(({ status }) => status)).toEqual([429, 200, 429, 200]);
});
