import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdk } from "@proviso/adapter-ai-sdk";
import { openai } from "@proviso/adapter-openai";
import { definePrompt, defineTool, type ProviderAdapter, type RouteStep } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { fallback, hedged } from "@proviso/runtime/routing";
import { startSimulator, type SimulatorStep } from "@proviso/simulator";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";

const connections: Readonly<Record<string, (baseURL: string) => ProviderAdapter>> = {
  "openai, responses": (baseURL) => openai({ model: "gpt-test", api: "responses", baseURL, apiKey: "key-12345678" }),
  "openai, chat": (baseURL) => openai({ model: "gpt-test", api: "chat", baseURL, apiKey: "key-12345678" }),
  "@ai-sdk/openai": (baseURL) =>
    aiSdk({
      model: createOpenAI({ baseURL, apiKey: "key-12345678" }).responses("gpt-test"),
      providerOptions: { openai: { store: false } },
    }),
  "@ai-sdk/openai-compatible": (baseURL) =>
    aiSdk({
      model: createOpenAICompatible({ name: "here", baseURL, apiKey: "key-12345678", includeUsage: true })("gpt-test"),
    }),
};
const pairs = [
  ["openai, responses", "@ai-sdk/openai-compatible"],
  ["openai, chat", "@ai-sdk/openai"],
  ["@ai-sdk/openai", "openai, chat"],
  ["@ai-sdk/openai-compatible", "openai, responses"],
] as const;

const usage = { input_tokens: 100, output_tokens: 10, prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
const refunds: SimulatorStep = {
  toolCalls: [{ id: "call_1", name: "refund", arguments: { order: "A-17" } }],
  usage,
};
const text = "Order A-17 is refunded, and a letter is on its way.";
const done: SimulatorStep = { text, usage };

/** How the first service dies in the middle of the run. */
const deaths: Readonly<Record<string, SimulatorStep | "closed">> = {
  "its process ends": "closed",
  "it resets the connection": { text, usage, fault: "reset_before_headers" },
  "it resets the connection in the middle of its answer": { text, usage, fault: "reset_in_body", chunkCharacters: 4 },
  "it is unavailable": { text, usage, fault: "status_503" },
};

describe.each(pairs)("%s, then %s", (first, second) => {
  describe.each(["whole", "streamed"] as const)("%s", (way) => {
    test.each(Object.entries(deaths))(
      "RTE-1 RTE-10 a service dies in the middle of a run (%s): the other ends it, and no tool is repeated",
      async (_, death) => {
        const dying = await startSimulator({ steps: [refunds, death === "closed" ? done : death] });
        await using other = await startSimulator({ steps: [done] });
        let ran = 0;
        const refund = defineTool({
          name: "refund",
          description: "Refunds an order.",
          input: z.object({ order: z.string() }),
          async execute() {
            ran++;
            if (death === "closed") await dying.close();
            return "refunded";
          },
        });
        const prompt = definePrompt({
          key: "desk",
          sections: [{ key: "ask", text: "Refund order A-17.", tools: [refund] }],
        });
        const session = createSession();
        const routes: (readonly RouteStep[] | undefined)[] = [];
        session.on("provider.responded", ({ route }) => void routes.push(route));
        const adapter = fallback([
          (connections[first] as (typeof connections)[string])(dying.baseURL),
          (connections[second] as (typeof connections)[string])(other.baseURL),
        ]);
        let shown = "";
        const evaluating = async () => {
          if (way === "whole") return adapter.evaluate(prompt.bind(), { session });
          const stream = adapter.stream(prompt.bind(), { session });
          for await (const event of stream) {
            if (event.type === "text.delta") shown += event.text;
            if (event.type === "text.reset") shown = "";
          }
          return stream.response;
        };
        const response = await evaluating();
        await dying.close();

        expect([response.output, response.turns, ran]).toEqual([text, 2, 1]);
        expect(way === "whole" ? text : shown).toBe(text);
        const [, tries = []] = routes;
        expect(tries.map(({ outcome }) => outcome === "answered")).toEqual([false, true]);
        expect(tries[1]?.usage).toMatchObject({ inputTokens: 100, outputTokens: 10 });
        // Both services' answers, and an estimate of what had arrived of the answer that broke off.
        const lost = tries[0]?.usage;
        expect(response.usage).toMatchObject({
          inputTokens: 200 + (lost?.inputTokens ?? 0),
          outputTokens: 20 + (lost?.outputTokens ?? 0),
          estimated: lost !== undefined,
        });
        // The other service gets the history with the call and its result.
        const asked = other.requests.map(({ body }) => JSON.stringify(body));
        expect(asked).toEqual([expect.stringContaining("refunded")]);
      },
    );
  });
});

test.each(pairs)(
  "RTE-11 over HTTP: %s hangs, %s answers, and the request that lost is aborted",
  async (first, second) => {
    await using hanging = await startSimulator({ steps: [{ text: "late", afterMs: 30_000 }] });
    await using quick = await startSimulator({ steps: [done] });
    const adapter = hedged(
      [
        (connections[first] as (typeof connections)[string])(hanging.baseURL),
        (connections[second] as (typeof connections)[string])(quick.baseURL),
      ],
      { afterMs: 50 },
    );
    const response = await adapter.evaluate("Say something.");
    expect(response).toMatchObject({ output: text, usage: { estimated: true } });
    // The service sees the connection end, long before its own answer.
    await vi.waitFor(() => expect(hanging.requests).toMatchObject([{ aborted: true }]), { timeout: 120_000 });
    expect(quick.requests).toMatchObject([{ aborted: false, status: 200 }]);
  },
);
