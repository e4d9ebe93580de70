import { createAnthropic } from "@ai-sdk/anthropic";
import { aiSdk } from "@proviso/adapter-ai-sdk";
import { openai } from "@proviso/adapter-openai";
import { definePrompt, defineTool } from "@proviso/core";
import { fallback } from "@proviso/runtime/routing";
import { startSimulator } from "@proviso/simulator";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => "paid" });
const prompt = definePrompt({
  key: "p",
  sections: [{ key: "task", role: "user", text: "Pay.", tools: [pay] }],
}).bind();
const called = { toolCalls: [{ name: "pay", arguments: {} }] };
const settings = { reasoning: { effort: "high" } } as const;
const claude = (baseURL: string) => aiSdk({ model: createAnthropic({ apiKey: "k", baseURL })("claude-sonnet-4-5") });

describe("AIS-27 RSN-3 calls that were begun without a thought are answered without any", () => {
  test("where a chain went on with Claude", async () => {
    await using first = await startSimulator({ steps: [called, { status: 503 }] });
    await using second = await startSimulator({ steps: [{ text: "done" }] });
    const chain = fallback([
      openai({ model: "gpt-test", apiKey: "k", baseURL: first.baseURL, throttle: { maxAttempts: 1 } }),
      claude(second.baseURL),
    ]);
    expect((await chain.evaluate(prompt, { settings })).text).toBe("done");
    expect(second.requests[0]?.body).toMatchObject({ thinking: { type: "disabled" } });
  });

  test("where an evaluation goes on with an effort", async () => {
    await using simulator = await startSimulator({ steps: [called, { text: "done" }, { text: "again" }] });
    const adapter = claude(simulator.baseURL);
    const failure: unknown = await adapter.evaluate(prompt, { maxTurns: 1 }).catch((error: unknown) => error);
    const response = await adapter.evaluate(prompt, { continueFrom: failure as never, settings });
    expect(response.text).toBe("done");
    // The next question has thoughts again.
    await adapter.evaluate("And now?", { messages: response.messages, settings });
    expect(simulator.requests.map(({ body }) => (body as { thinking?: { type: string } }).thinking?.type)).toEqual([
      undefined,
      "disabled",
      "enabled",
    ]);
  });

  test("where the turn with the thought was left out of a long history", async () => {
    const read = defineTool({
      name: "read",
      description: "Reads.",
      input: z.object({ n: z.number() }),
      readOnly: true,
      execute: ({ n }) => `${n}: ${"some text. ".repeat(200)}`,
    });
    const long = definePrompt({
      key: "l",
      sections: [{ key: "task", role: "user", text: "Go.", tools: [read] }],
    }).bind();
    const reads = Array.from({ length: 12 }, (_, n) => ({ toolCalls: [{ name: "read", arguments: { n } }] }));
    const thought = { ...reads[0], reasoning: "Hm." };
    await using simulator = await startSimulator({ steps: [thought, ...reads.slice(1), { text: "done" }] });
    const given = { context: { window: 8_000 }, settings: { maxOutputTokens: 3_000, ...settings } };
    expect((await claude(simulator.baseURL).evaluate(long, given)).text).toBe("done");
    const asked = simulator.requests.map(({ body }) => (body as { thinking?: { type: string } }).thinking?.type);
    expect([asked[1], asked.at(-1)]).toEqual(["enabled", "disabled"]);
  });
});
