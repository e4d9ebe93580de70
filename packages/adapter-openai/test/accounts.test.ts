import { openai, type OpenAIOptions } from "@proviso/adapter-openai";
import { definePrompt, defineTool, type Message } from "@proviso/core";
import { fallback } from "@proviso/runtime/routing";
import { startSimulator, type Simulator, type SimulatorStep } from "@proviso/simulator";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const count = defineTool({ name: "count", description: "Counts.", input: z.object({}), execute: () => 1 });
const howMany = definePrompt({
  key: "how-many",
  sections: [{ key: "ask", role: "user", text: "How many?", tools: [count] }],
}).bind();
const busy: SimulatorStep = {
  status: 429,
  headers: { "retry-after": "60" },
  body: { error: { message: "Slow down." } },
};
const calls: SimulatorStep = { reasoning: "Hm.", toolCalls: [{ name: "count", arguments: {} }] };
const keys = { one: "key-of-one-account", other: "key-of-another-account" };

function at({ baseURL }: Simulator, apiKey: string, more: Partial<OpenAIOptions> = {}) {
  return openai({ model: "gpt-5.4", api: "responses", baseURL, apiKey, ...more });
}

function saved(messages: readonly Message[]): readonly Message[] {
  return JSON.parse(JSON.stringify(messages)) as readonly Message[];
}

/** The types of what a request held, of a message its text. */
function sentTo({ requests }: Simulator, request: number): readonly unknown[] {
  const body = requests[request]?.body as { input: readonly { type?: string; content?: unknown }[] } | undefined;
  return (body?.input ?? []).map(({ type, content }) => type ?? content);
}

const rebuilt = ["How many?", "function_call", "function_call_output"];
const replayed = ["How many?", "reasoning", "function_call", "function_call_output"];

describe("RSN-3 what one account made is rebuilt for another", () => {
  test("with another key, the next one of a chain", async () => {
    await using simulator = await startSimulator({ steps: [calls, busy, { text: "One." }] });
    const chain = fallback([at(simulator, keys.one), at(simulator, keys.other)]);
    const { output, messages } = await chain.evaluate(howMany);
    expect(output).toBe("One.");
    expect(simulator.requests.map(({ status }) => status)).toEqual([200, 429, 200]);
    expect(sentTo(simulator, 1)).toEqual(replayed);
    expect(sentTo(simulator, 2)).toEqual(rebuilt);
    for (const key of Object.values(keys)) expect(JSON.stringify(messages)).not.toContain(key);
  });

  test("at another address, in a saved conversation too", async () => {
    await using first = await startSimulator({ steps: [calls, busy] });
    await using second = await startSimulator({ steps: [{ text: "One." }, { text: "Still one." }] });
    const chain = fallback([at(first, keys.one), at(second, keys.one)]);
    const { messages } = await chain.evaluate(howMany);
    await at(second, keys.one).evaluate("And now?", { messages: saved(messages) });
    expect(sentTo(second, 0)).toEqual(rebuilt);
    expect(sentTo(second, 1)).toEqual([...rebuilt, "One.", "And now?"]);
    expect(second.requests.map(({ status }) => status)).toEqual([200, 200]);
    const kept = messages.flatMap((message) => (message.role === "assistant" ? (message.providerItems ?? []) : []));
    expect(kept).toMatchObject([{ service: new URL(first.baseURL).host }]);
  });

  test("but goes back to the account that made it, from a saved conversation and through another adapter", async () => {
    await using simulator = await startSimulator({
      steps: [calls, { text: "One." }, { text: "Still." }, { text: "Yes." }],
    });
    const { messages } = await at(simulator, keys.one).evaluate(howMany);
    await at(simulator, keys.one).evaluate("And now?", { messages: saved(messages) });
    await at(simulator, keys.one, { model: "gpt-5.4-mini" }).evaluate("And now?", { messages });
    for (const request of [2, 3]) expect(sentTo(simulator, request)).toEqual([...replayed, "One.", "And now?"]);
    expect(simulator.requests).toHaveLength(4);
  });

  test("also through clients whose key is a function, which nothing can read", async () => {
    await using simulator = await startSimulator({ steps: [calls, { text: "One." }, { text: "Still." }] });
    const { baseURL } = simulator;
    const adapterOf = () =>
      openai({
        model: "gpt-5.4",
        api: "responses",
        client: new OpenAI({ baseURL, apiKey: async () => keys.one }),
      });
    const { messages } = await adapterOf().evaluate(howMany);
    await adapterOf().evaluate("And now?", { messages });
    expect(sentTo(simulator, 2)).toEqual([...replayed, "One.", "And now?"]);
  });
});

const unknownItem = (message: string, code: string | null, status = 400): SimulatorStep => ({
  status,
  body: { error: { message, type: "invalid_request_error", param: "input", code } },
});

describe.each([
  ["itself", (_: Simulator) => ({})],
  [
    "over a client",
    ({ baseURL }: Simulator) => ({
      client: new OpenAI({ baseURL, apiKey: keys.other }),
      apiKey: undefined,
      baseURL: undefined,
    }),
  ],
])("RSN-3 items that the account does not know are left out, sent %s", (_, connectionTo) => {
  test.each([false, true])("of a saved conversation whose key has changed, with streams: %s", async (streams) => {
    await using simulator = await startSimulator({
      steps: [calls, { text: "One." }, { text: "Still one." }, { reasoning: "Hm.", text: "Yes." }, { text: "Bye." }],
    });
    const messages = saved((await at(simulator, keys.one).evaluate(howMany)).messages);
    const adapter = at(simulator, keys.other, connectionTo(simulator));
    const ask = async (text: string, history: readonly Message[]) =>
      streams
        ? await adapter.stream(text, { messages: history }).response
        : await adapter.evaluate(text, { messages: history });
    const next = await ask("And now?", messages);
    expect(next.text).toBe("Still one.");
    const later = await ask("Sure?", saved(next.messages));
    await ask("Bye.", later.messages);
    expect(simulator.requests.map(({ status }) => status)).toEqual([200, 200, 404, 200, 200, 200]);
    expect(sentTo(simulator, 2)).toEqual([...replayed, "One.", "And now?"]);
    expect(sentTo(simulator, 3)).toEqual([...rebuilt, "One.", "And now?"]);
    // What this account has made is replayed.
    expect(sentTo(simulator, 5).slice(-4)).toEqual(["Sure?", "reasoning", "message", "Bye."]);
  });
});

test.each([
  ["the code", unknownItem("No.", "invalid_encrypted_content")],
  ["Azure's words", unknownItem("The encrypted content gAAA...wXBV could not be verified.", null)],
  ["OpenAI's words", unknownItem("Item with id 'rs_1' not found.", null, 404)],
])("RSN-3 sealed items that the account cannot open are left out: %s", async (_, refusal) => {
  await using simulator = await startSimulator({ steps: [calls, { text: "One." }, refusal, { text: "Yes." }] });
  const adapter = at(simulator, keys.one, { store: false });
  const { messages } = await adapter.evaluate(howMany);
  expect((await adapter.evaluate("Sure?", { messages })).text).toBe("Yes.");
  expect(sentTo(simulator, 2)).toContain("reasoning");
  expect(sentTo(simulator, 3)).toEqual([...rebuilt, "One.", "Sure?"]);
});

test("RSN-3 so it is with each of several requests that were sent before the first refusal", async () => {
  await using simulator = await startSimulator({
    rules: [
      ({ body }) =>
        JSON.stringify(body).includes('"rs_')
          ? unknownItem("Item with id 'rs_1' not found.", null, 404)
          : { text: "Yes." },
    ],
  });
  const item = { type: "reasoning", id: "rs_1", summary: [] };
  const messages = [
    { role: "user", text: "Hi" },
    { role: "assistant", text: "Hello.", toolCalls: [], providerItems: { api: "openai.responses", items: [item] } },
  ] as const satisfies readonly Message[];
  const adapter = at(simulator, keys.one);
  const asked = ["And now?", "Sure?", "Really?"].map((text) => adapter.evaluate(text, { messages: [...messages] }));
  expect((await Promise.all(asked)).map(({ text }) => text)).toEqual(["Yes.", "Yes.", "Yes."]);
  expect(simulator.requests).toHaveLength(6);
});

test("RSN-3 such a refusal of a request without items stays what it is", async () => {
  const refusal = unknownItem("Item with id 'rs_1' not found.", null, 404);
  await using simulator = await startSimulator({ steps: [refusal, calls, refusal, refusal] });
  const adapter = at(simulator, keys.one);
  await expect(adapter.evaluate("Hello.")).rejects.toMatchObject({ code: "provider", reason: "not_found" });
  // Once for the items, and not again when they are left out.
  await expect(adapter.evaluate(howMany)).rejects.toMatchObject({ code: "provider", reason: "not_found" });
  expect(simulator.requests).toHaveLength(4);
});

test("RSN-3 a conversation that was saved before services were named goes back as it is", async () => {
  await using simulator = await startSimulator({ steps: [calls, { text: "One." }, { text: "Yes." }] });
  const { messages } = await at(simulator, keys.one).evaluate(howMany);
  const before = saved(messages).map((message) => {
    if (message.role !== "assistant" || message.providerItems === undefined) return message;
    const { service: _, ...providerItems } = message.providerItems as { readonly service: string };
    return { ...message, providerItems };
  });
  await at(simulator, keys.one).evaluate("Sure?", { messages: before });
  expect(sentTo(simulator, 2)).toEqual([...replayed, "One.", "Sure?"]);
});
