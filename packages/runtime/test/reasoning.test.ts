import { definePrompt, defineProviderTool, defineTool, type ModelProvider, type StreamEvent } from "@proviso/core";
import { agentAdapter, createSession, modelAdapter, serverSentEvents } from "@proviso/runtime";
import { fakeEnvironment, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { rejectionOf } from "./state/support.ts";
import { all, answer, hello } from "./streaming/support.ts";

const search = defineProviderTool({ name: "search", id: "openai.web_search" });
const searched = { callId: "ws_1", name: "search", input: { query: "node 24" }, isError: false } as const;
const news = definePrompt({
  key: "news",
  sections: [{ key: "task", role: "user", text: "What is new?", providerTools: [search] }],
});
const offering = { capabilities: { providerTools: ["openai.*"] } };

function thoughtsOf(events: readonly StreamEvent[]): string {
  return events.reduce((sum, event) => {
    if (event.type === "text.reset") return "";
    return event.type === "reasoning.delta" ? sum + event.text : sum;
  }, "");
}

/** Emits the deltas, then answers. */
function telling(deltas: readonly object[], message: object): ModelProvider {
  return {
    name: "telling",
    model: "telling-1",
    capabilities: { tools: true, nativeOutput: true },
    async generate({ onDelta }) {
      for (const delta of deltas) onDelta?.(delta as never);
      return answer("", { message: { role: "assistant", text: "", toolCalls: [], ...message } });
    },
  };
}

test("RSN-1 streamed thoughts are reasoning.delta, add up to the answer's, and are no text", async () => {
  const model = scriptedModel([{ reasoning: "First, the capital, then its name.", text: "Paris" }]);
  const session = createSession();
  const recorded = recordEvents(session);
  const events = await all(modelAdapter(model).stream(hello, { session }));
  const responded = recorded.find(({ type }) => type === "provider.responded");
  expect(thoughtsOf(events)).toBe("First, the capital, then its name.");
  expect(responded).toMatchObject({ reasoning: "First, the capital, then its name." });
  expect(events.flatMap((event) => (event.type === "text.delta" ? event.text : [])).join("")).toBe("Paris");
  expect(recorded.find(({ type }) => type === "prompt.executed")).toMatchObject({ output: "Paris" });
});

test.each([
  ["nothing of them", []],
  ["a part of them", ["I thi"]],
  ["something else", ["No."]],
])("RSN-1 the deltas since the last reset add up when the provider emitted %s", async (_, pieces) => {
  const deltas = pieces.map((text) => ({ kind: "reasoning", text }));
  const model = telling([...deltas, { kind: "text", text: "Yes." }], { text: "Yes.", reasoning: "I think." });
  const events = await all(modelAdapter(model).stream(hello));
  expect(thoughtsOf(events)).toBe("I think.");
});

test("RSN-1 a reset of the provider takes text and thoughts back", async () => {
  const deltas = [
    { kind: "reasoning", text: "Hm." },
    { kind: "text", text: "No" },
    { kind: "reset" },
    { kind: "reasoning", text: "Yes?" },
    { kind: "text", text: "Yes." },
  ];
  const model = telling(deltas, { text: "Yes.", reasoning: "Yes?" });
  const events = await all(modelAdapter(model).stream(hello));
  const shown = events.flatMap((event) => {
    if (event.type === "text.reset") return "(reset)";
    return event.type === "text.delta" || event.type === "reasoning.delta" ? event.text : [];
  });
  expect(shown).toEqual(["Hm.", "No", "(reset)", "Yes?", "Yes."]);
});

test("RSN-1 thoughts are no part of a structured output", async () => {
  const prompt = definePrompt({ key: "n", text: "How many?", output: z.object({ n: z.number() }) });
  const model = scriptedModel([{ reasoning: '{"n": 1}', output: { n: 2 } }]);
  const stream = modelAdapter(model).stream(prompt.bind());
  const events = await all(stream);
  const partials = events.flatMap((event) => (event.type === "output.delta" ? [event.partial] : []));
  expect(partials).not.toContainEqual({ n: 1 });
  expect((await stream.response).output).toEqual({ n: 2 });
});

test("RSN-1 a secret in the thoughts is hidden, also where it comes in pieces", async () => {
  const pieces = ["The key is hun", "ter2-hun", "ter2."].map((text) => ({ kind: "reasoning", text }));
  const model = telling(pieces, { text: "Yes.", reasoning: "The key is hunter2-hunter2." });
  const session = createSession();
  const recorded = recordEvents(session);
  const events = await all(modelAdapter(model, { secrets: ["hunter2-hunter2"] }).stream(hello, { session }));
  expect(JSON.stringify(recorded)).not.toContain("hunter2-hunter2");
  const responded = events.find(({ type }) => type === "provider.responded") as { readonly reasoning?: string };
  expect(thoughtsOf(events)).toBe(responded.reasoning);
});

test("RSN-1 unread thoughts are merged", async () => {
  const pieces = Array.from({ length: 5_000 }, () => ({ kind: "reasoning", text: "a" }));
  const stream = modelAdapter(telling(pieces, { text: "Yes.", reasoning: "a".repeat(5_000) })).stream(hello);
  await stream.response;
  const events = await all(stream);
  expect(events.length).toBeLessThan(1_100);
  expect(thoughtsOf(events)).toBe("a".repeat(5_000));
});

test("RSN-1 server-sent events carry thoughts as messages of their own", async () => {
  const stream = modelAdapter(scriptedModel([{ reasoning: "Hm.", text: "Yes." }])).stream(hello);
  const sent = await new Response(serverSentEvents(stream)).text();
  expect(sent).toContain('event: reasoning\ndata: "Hm."\n\n');
});

test("RSN-2 the response joins the turns by a blank line, and thoughts are kept but not text of the message", async () => {
  const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => "seen" });
  const prompt = definePrompt({ key: "look", sections: [{ key: "task", text: "Look.", tools: [look] }] });
  const model = scriptedModel([
    { reasoning: "I look.", toolCalls: [{ name: "look" }] },
    { reasoning: "I saw.", text: "Done." },
  ]);
  const response = await modelAdapter(model).evaluate(prompt.bind());
  expect(response.reasoning).toBe("I look.\n\nI saw.");
  expect(response.messages.flatMap((message) => ("reasoning" in message ? message.reasoning : []))).toEqual([
    "I look.",
    "I saw.",
  ]);
  expect(await modelAdapter(scriptedModel([{ text: "Hi." }])).evaluate(hello)).not.toHaveProperty("reasoning");
});

test("RSN-2 a call whose id was made up keeps the thoughts of its message", async () => {
  const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => "seen" });
  const prompt = definePrompt({ key: "look", sections: [{ key: "task", text: "Look.", tools: [look] }] });
  const model = scriptedModel([{ reasoning: "I look.", toolCalls: [{ name: "look", id: "" }] }, { text: "Done." }]);
  const { messages } = await modelAdapter(model).evaluate(prompt.bind());
  expect(messages.find(({ role }) => role === "assistant")).toMatchObject({ reasoning: "I look." });
});

test("RSN-5 an answer of thoughts alone is empty", async () => {
  const error = await rejectionOf(modelAdapter(scriptedModel([{ reasoning: "Hm." }])).evaluate(hello));
  expect(error).toMatchObject({ code: "provider", reason: "invalid_response" });
});

test("SRC-1 sources come in the order of their first mention, each once; an offset outside the text is left out", async () => {
  const page = { kind: "url", url: "https://a.example/", title: "A" } as const;
  const other = { kind: "document", fileName: "b.pdf" } as const;
  const last = { kind: "document", fileName: "c.pdf" } as const;
  const sources = [
    { ...page, at: { start: 0, end: 3 } },
    { ...other, at: { start: 2, end: 5 } },
    { ...last, at: { start: 3, end: 4 } },
    { ...page, at: { start: 3, end: 4 } },
    { kind: "unknown" },
  ];
  const session = createSession();
  const recorded = recordEvents(session);
  const model = scriptedModel([{ text: "Yes.", sources: sources as never }]);
  const response = await modelAdapter(model).evaluate(hello, { session });
  expect(response.sources).toEqual([
    { ...page, at: { start: 0, end: 3 } },
    other,
    { ...last, at: { start: 3, end: 4 } },
  ]);
  expect(recorded.find(({ type }) => type === "provider.responded")).toMatchObject({ sources: response.sources });
  expect(await modelAdapter(scriptedModel([{ text: "Hi." }])).evaluate(hello)).not.toHaveProperty("sources");
});

test("PTL-2 a provider tool that the adapter cannot offer is refused before anything is sent", async () => {
  const model = scriptedModel([{ text: "never" }], { capabilities: { providerTools: ["anthropic.*", "openai.web"] } });
  const session = createSession();
  const recorded = recordEvents(session);
  const error = await rejectionOf(modelAdapter(model).evaluate(news.bind(), { session }));
  expect(error).toMatchObject({ code: "provider", phase: "request", reason: "bad_request" });
  expect((error as Error).message).toMatch(/scripted cannot offer the provider tool "search" \(openai.web_search\)/);
  expect(recorded.some(({ type }) => type === "provider.requested")).toBe(false);
  expect(model.callCount).toBe(0);
});

test("PTL-2 an agent without provider tools refuses them", async () => {
  const agent = agentAdapter({ name: "agent", model: "agent-1", drive: async () => answer("never") });
  const error = await rejectionOf(agent.evaluate(news.bind()));
  expect(error).toMatchObject({ code: "provider", reason: "bad_request" });
});

test("PTL-1 PTL-2 a model that offers them is asked with the provider tools of the open sections", async () => {
  const model = scriptedModel([{ text: "Much." }], offering);
  await modelAdapter(model).evaluate(news.bind());
  expect(model.requests[0]?.providerTools).toEqual([search]);
  expect(model.requests[0]?.tools).toEqual([]);
});

test("PTL-3 PTL-4 calls of the provider are events before provider.responded, and only ours are run", async () => {
  const ran: string[] = [];
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    execute: () => void ran.push("look"),
  });
  const prompt = definePrompt({
    key: "look",
    sections: [{ key: "task", text: "Look.", tools: [look], providerTools: [search] }],
  });
  const later = { ...searched, callId: "ws_2", output: { hits: 3 } };
  const model = scriptedModel(
    [{ toolCalls: [{ name: "look", id: "c1" }], providerCalls: [searched, later] }, { text: "Done." }],
    offering,
  );
  const session = createSession();
  const recorded = recordEvents(session);
  const { messages, toolResults } = await modelAdapter(model, fakeEnvironment()).evaluate(prompt.bind(), { session });
  const told = recorded.filter(({ type }) => type.startsWith("provider.") || type.startsWith("tool."));
  expect(told.map(({ type }) => type)).toEqual([
    "provider.requested",
    "provider.tool",
    "provider.tool",
    "provider.responded",
    "tool.requested",
    "tool.invoked",
    "provider.requested",
    "provider.responded",
  ]);
  expect(told[1]).toMatchObject({ ...searched, turn: 1 });
  expect(told[2]).toMatchObject(later);
  expect(ran).toEqual(["look"]);
  expect(toolResults.map(({ callId }) => callId)).toEqual(["c1"]);
  expect(messages.flatMap((message) => (message.role === "tool" ? message.callId : []))).toEqual(["c1"]);
});
