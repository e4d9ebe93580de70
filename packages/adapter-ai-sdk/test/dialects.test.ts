import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { aiSdk } from "@proviso/adapter-ai-sdk";
import { definePrompt, defineTool, type PromptResponse, type ProviderAdapter, type SessionEvent } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { startSimulator, type Simulator, type SimulatorStep } from "@proviso/simulator";
import { generateText, streamText, tool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";

type ProviderResponded = Extract<SessionEvent, { readonly type: "provider.responded" }>;

const apiKey = "key-12345678";
const anthropic = ({ baseURL }: Simulator, model = "claude-sonnet-4-5") => createAnthropic({ baseURL, apiKey })(model);
const google = ({ baseURL }: Simulator, model = "gemini-3-pro-preview") => createGoogle({ baseURL, apiKey })(model);
const wires = [
  { name: "anthropic", model: anthropic, family: "anthropic" },
  { name: "gemini", model: google, family: "google" },
] as const;

/** A picture of one pixel. */
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
let noted: string[] = [];
const note = defineTool({
  name: "note",
  description: "Keeps a note.",
  input: z.object({ text: z.string() }),
  execute({ text }) {
    noted.push(text);
    return `noted ${text}`;
  },
});
const guide = "Keep notes of what you are given, and of nothing else. ".repeat(100);
const desk = definePrompt({
  key: "desk",
  sections: [
    { key: "guide", text: guide, tools: [note], cached: true },
    { key: "ask", role: "user", text: "Begin." },
  ],
}).bind();
const calling = (text: string): SimulatorStep => ({ toolCalls: [{ name: "note", arguments: { text } }] });

async function evaluated(
  adapter: ProviderAdapter,
  way: "evaluate" | "stream",
  options: object = {},
): Promise<PromptResponse<string>> {
  noted = [];
  return way === "evaluate" ? adapter.evaluate(desk, options) : adapter.stream(desk, options).response;
}

describe.each(wires)("$name over the simulator", ({ model, family }) => {
  test.each(["evaluate", "stream"] as const)(
    "RSN-1 LOOP-2 thoughts go back with the signature that the service checks: %s",
    async (way) => {
      await using simulator = await startSimulator({
        steps: [{ reasoning: "I keep it first.", ...(calling("one") as object) }, { text: "Done." }],
      });
      const response = await evaluated(aiSdk({ model: model(simulator) }), way);
      expect(response.output).toBe("Done.");
      expect(response.messages[1]).toMatchObject({ role: "assistant", reasoning: "I keep it first." });
      expect(JSON.stringify(simulator.requests[1]?.body)).toMatch(/"(thoughtS|s)ignature":"[\w+/=]{40,}"/);
    },
  );

  test.each(["evaluate", "stream"] as const)(
    "PRO-7 the ecosystem's own calls get the same answers: %s",
    async (way) => {
      const steps = [calling("one"), { text: "Done." }];
      await using simulator = await startSimulator({ steps });
      const keep = tool({ inputSchema: z.object({ text: z.string() }), execute: ({ text }) => `noted ${text}` });
      const asked = { model: model(simulator), prompt: "Begin.", tools: { note: keep }, stopWhen: () => false };
      if (way === "evaluate") expect((await generateText(asked)).text).toBe("Done.");
      else expect(await streamText(asked).text).toBe("Done.");
      expect(simulator.requests).toHaveLength(2);
    },
  );

  test.each(["evaluate", "stream"] as const)("CCH-4 the second turn reads what the first has sent: %s", async (way) => {
    await using simulator = await startSimulator({ steps: [calling("one"), { text: "Done." }] });
    const session = createSession();
    const turns: ProviderResponded[] = [];
    session.on("provider.responded", (event) => turns.push(event));
    const settings = family === "anthropic" ? { settings: { cache: "auto" as const } } : {};
    const { usage } = await evaluated(aiSdk({ model: model(simulator) }), way, { session, ...settings });
    const [first, second] = turns.map(({ usage }) => usage);
    expect(first?.cachedInputTokens).toBe(0);
    expect(second?.cachedInputTokens).toBeGreaterThan(1_300);
    expect(usage.cachedInputTokens).toBe(second?.cachedInputTokens);
    // Gemini keeps a prompt unasked and counts no writing.
    if (family === "google") expect(usage.cacheWriteTokens).toBe(0);
    else expect(first?.cacheWriteTokens).toBe(second?.cachedInputTokens);
    const total = (second?.inputTokens ?? 0) - (second?.cachedInputTokens ?? 0);
    expect(total).toBeGreaterThan(0);
  });
});

test("CCH-2 a lifetime of an hour is asked for, and counted as one, by Anthropic", async () => {
  await using simulator = await startSimulator({ steps: [{ text: "Done." }] });
  const { usage } = await aiSdk({ model: anthropic(simulator) }).evaluate(desk, { settings: { cache: { ttl: "1h" } } });
  expect(usage.cacheWriteTokens).toBeGreaterThan(1_300);
  expect(simulator.requests[0]?.answer).toMatchObject({
    usage: { cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: usage.cacheWriteTokens } },
  });
});

describe("AIS-8 a text of blanks, which Anthropic refuses, is left out", () => {
  test.each(["evaluate", "stream"] as const)("AIS-8 LOOP-2 before the calls of a turn: %s", async (way) => {
    await using simulator = await startSimulator({
      steps: [
        { ...(calling("one") as object), text: "\n\n" },
        { reasoning: "And one more.", ...(calling("two") as object), text: " " },
        { text: "Done." },
      ],
    });
    const response = await evaluated(aiSdk({ model: anthropic(simulator) }), way);
    expect(response.output).toBe("Done.");
    expect(response.messages[1]).toMatchObject({ role: "assistant", text: "\n\n" });
    await using other = await startSimulator({ steps: [{ text: "Gone on." }] });
    const messages = response.messages.map((message) => {
      if (message.role !== "assistant") return message;
      const { providerItems: _, ...rest } = message;
      return rest;
    });
    const { output } = await aiSdk({ model: anthropic(other) }).evaluate("More.", { messages });
    expect(output).toBe("Gone on.");
  });

  test.each([{}, { cache: "auto" as const }])("AIS-8 of the system and beside a file: %o", async (settings) => {
    const noted = definePrompt({
      key: "noted",
      params: z.object({ notes: z.string(), picture: z.instanceof(File) }),
      sections: [
        { key: "notes", role: "system", text: "{{notes}}", cached: true },
        { key: "ask", role: "user", text: " {{picture}}\n{{picture}} What is it?" },
      ],
    });
    await using simulator = await startSimulator({ steps: [{ text: "A dot." }] });
    const picture = new File([Uint8Array.from(atob(dot), (letter) => letter.charCodeAt(0))], "dot.png");
    const bound = noted.bind({ notes: " ", picture });
    expect((await aiSdk({ model: anthropic(simulator) }).evaluate(bound, { settings })).output).toBe("A dot.");
  });
});

describe.each([
  { from: wires[0], to: wires[1] },
  { from: wires[1], to: wires[0] },
])("RTE-1 from $from.name to $to.name in the middle of a run", ({ from, to }) => {
  test.each(["evaluate", "stream"] as const)("RTE-1 RTE-5 no tool is repeated, both usages count: %s", async (way) => {
    const dying: SimulatorStep = { text: "never sent", fault: from.name === "anthropic" ? "status_529" : "status_503" };
    await using first = await startSimulator({
      steps: [{ reasoning: "I keep it first.", ...(calling("one") as object) }, dying],
    });
    await using second = await startSimulator({ steps: [calling("two"), { text: "Done." }] });
    const session = createSession();
    const turns: ProviderResponded[] = [];
    session.on("provider.responded", (event) => turns.push(event));
    const members = [aiSdk({ model: from.model(first) }), aiSdk({ model: to.model(second) })] as const;
    const response = await evaluated(fallback(members), way, { session });
    expect(response.output).toBe("Done.");
    expect(noted).toEqual(["one", "two"]);
    expect([first.requests.length, second.requests.length]).toEqual([2, 2]);
    expect(turns.map(({ route = [] }) => route.map(({ outcome }) => outcome))).toEqual([
      ["answered"],
      ["server_error", "answered"],
      ["answered"],
    ]);
    expect(turns.map(({ usage }) => usage.inputTokens > 1_300)).toEqual([true, true, true]);
    expect(response.usage.inputTokens).toBe(turns.reduce((sum, { usage }) => sum + usage.inputTokens, 0));
    // What one service has signed is nothing to the other.
    const signature = /ignature":"([^"]{40,})"/.exec(JSON.stringify(first.requests[0]?.answer))?.[1];
    expect(signature).toBeDefined();
    expect(JSON.stringify(second.requests[0]?.body)).not.toContain(signature);
    expect(JSON.stringify(second.requests[0]?.body)).toContain("noted one");
  });
});

describe("what the services refuse", () => {
  async function failure(model: (simulator: Simulator) => ReturnType<typeof google>, step: SimulatorStep) {
    await using simulator = await startSimulator({ steps: [step] });
    return await aiSdk({ model: model(simulator), throttle: { maxAttempts: 1 } })
      .evaluate("Hello")
      .catch((error: unknown) => error);
  }

  test("AIS-18 THR-5 Gemini's quota of a day is spent, its limit of a minute passes", async () => {
    const day = await failure(google, { text: "", fault: "insufficient_quota" });
    expect(day).toMatchObject({ code: "throttled", kind: "quota_exhausted" });
    const minute = await failure(google, { text: "", fault: "status_429" });
    expect(minute).toMatchObject({ code: "throttled", kind: "rate_limit" });
  });

  test.each(["stream_error_first", "stream_error_midway", "stream_overloaded"] as const)(
    "AIS-18 THR-1 an error event in Gemini's stream is a failure that passes: %s",
    async (fault) => {
      await using simulator = await startSimulator({ steps: [{ text: "Hello you.", fault }] });
      const adapter = aiSdk({ model: google(simulator), throttle: { baseDelayMs: 1 } });
      expect((await adapter.stream("Hello").response).output).toBe("Hello you.");
      expect(simulator.requests).toHaveLength(2);
    },
  );

  test("AIS-18 LOOP-5 a call that Gemini's model wrote wrongly is an answer that cannot be read", async () => {
    const error = await failure(google, { toolCalls: [{ name: "note", arguments: "{bad" }] });
    expect(error).toMatchObject({ code: "provider", reason: "invalid_response", phase: "response" });
  });

  test("AIS-18 Gemini's filter of a prompt is a filter", async () => {
    const error = await failure(google, { finishReason: "content_filter" });
    expect(error).toMatchObject({ code: "provider", reason: "content_filter" });
  });

  test("AIS-24 a call by a name that every object has goes back to Anthropic", async () => {
    const steps = [{ toolCalls: [{ name: "constructor" }] }, { text: "Done." }];
    await using simulator = await startSimulator({ steps });
    expect((await evaluated(aiSdk({ model: anthropic(simulator) }), "evaluate")).output).toBe("Done.");
    expect(JSON.stringify(simulator.requests[1]?.body)).toContain('"name":"constructor_"');
  });

  test("SET-2 a tier that Anthropic has not is refused before anything is sent", async () => {
    await using simulator = await startSimulator({ steps: [] });
    const adapter = aiSdk({ model: anthropic(simulator) });
    await expect(adapter.evaluate("Hello", { settings: { serviceTier: "flex" } })).rejects.toMatchObject({
      code: "provider",
      reason: "bad_request",
      message: expect.stringContaining("setting serviceTier") as string,
    });
    expect(simulator.requests).toEqual([]);
  });

  test("AIS-20 before Gemini 3 a structured output with tools comes by a tool of the package's own", async () => {
    const counted = definePrompt({
      key: "counted",
      output: z.object({ total: z.number() }),
      sections: [{ key: "guide", text: "Count.", tools: [note] }],
    }).bind();
    await using simulator = await startSimulator({
      steps: [{ toolCalls: [{ name: "json", arguments: { total: 2 } }] }],
    });
    const adapter = aiSdk({ model: google(simulator, "gemini-2.5-flash") });
    expect((await adapter.evaluate(counted)).output).toEqual({ total: 2 });
  });
});
