import { createAnthropic } from "@ai-sdk/anthropic";
import { aiSdk } from "@proviso/adapter-ai-sdk";
import { openai } from "@proviso/adapter-openai";
import { definePrompt, defineTool, type EvaluationFailure, type Schema } from "@proviso/core";
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

  test("where the next question stands right behind what a call answered", async () => {
    await using simulator = await startSimulator({ steps: [called, { text: "here" }, { text: "there" }] });
    const adapter = claude(simulator.baseURL);
    const cut: unknown = await adapter.evaluate(prompt, { maxTurns: 1 }).catch((error: unknown) => error);
    const { messages } = cut as EvaluationFailure;
    const next = await adapter.evaluate("Never mind. Are you here?", { messages, settings });
    await adapter.evaluate("And there?", { messages: next.messages, settings });
    const asked = simulator.requests.map(({ body }) => (body as { thinking?: { type: string } }).thinking?.type);
    expect(asked).toEqual([undefined, "disabled", "enabled"]);
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

const Tree = z.object({
  v: z.number(),
  get kids() {
    return z.array(Tree);
  },
});

describe.each(["claude-sonnet-4-5", "claude-opus-4-7"])("AIS-27 with an effort, %s", (id) => {
  test.each([
    ["a record", z.object({ stock: z.record(z.string(), z.number()) }), { stock: { tea: 3 } }],
    ["a recursive output", Tree, { v: 1, kids: [{ v: 2, kids: [] }] }],
    ["a plain output", z.object({ n: z.number() }), { n: 1 }],
  ])("answers %s", async (_, output, value) => {
    await using simulator = await startSimulator({ rules: [() => ({ output: value })] });
    const adapter = aiSdk({ model: createAnthropic({ apiKey: "k", baseURL: simulator.baseURL })(id) });
    const asked = definePrompt({ key: "o", output: output as Schema, text: "What is there?" }).bind();
    expect((await adapter.evaluate(asked, { settings })).output).toEqual(value);
    const { thinking } = (simulator.requests[0]?.body ?? {}) as { thinking: { type: string } };
    const isFormat = "n" in value;
    expect(thinking.type).toBe(id === "claude-sonnet-4-5" ? "enabled" : isFormat ? "adaptive" : "disabled");
  });

  test.each(["required", { tool: "pay" }] as const)(
    "makes the call that %j forces, without a thought",
    async (toolChoice) => {
      await using simulator = await startSimulator({ steps: [called, { text: "done" }] });
      const adapter = aiSdk({ model: createAnthropic({ apiKey: "k", baseURL: simulator.baseURL })(id) });
      expect((await adapter.evaluate(prompt, { settings, toolChoice })).text).toBe("done");
      expect(simulator.requests[0]?.body).toMatchObject({
        thinking: { type: "disabled" },
        tool_choice: typeof toolChoice === "string" ? { type: "any" } : { type: "tool", name: "pay" },
      });
    },
  );

  test("makes the call without a thought that the options ask for", async () => {
    await using simulator = await startSimulator({ steps: [called, { text: "done" }] });
    const thinking = id === "claude-sonnet-4-5" ? { type: "enabled", budgetTokens: 2_000 } : { type: "adaptive" };
    const adapter = aiSdk({
      model: createAnthropic({ apiKey: "k", baseURL: simulator.baseURL })(id),
      providerOptions: { anthropic: { thinking } },
    });
    expect((await adapter.evaluate(prompt, { toolChoice: "required" })).text).toBe("done");
    expect(simulator.requests[0]?.body).toMatchObject({ thinking: { type: "disabled" } });
  });
});

describe("AIS-27 a Claude that cannot stop thinking keeps its effort where a call is forced", () => {
  const bodyOf = async (id: string, how: "record" | "required", effort: "low" | "minimal" | undefined, given = {}) => {
    await using simulator = await startSimulator({
      rules: [() => (how === "record" ? { output: { stock: { tea: 3 } } } : { text: "done" })],
    });
    const adapter = aiSdk({ model: createAnthropic({ apiKey: "k", baseURL: simulator.baseURL })(id), ...given });
    const output = z.object({ stock: z.record(z.string(), z.number()) });
    const asked = definePrompt({ key: "o", output, text: "What is there?" }).bind();
    const own = effort === undefined ? {} : { settings: { reasoning: { effort } } };
    if (how === "record") await adapter.evaluate(asked, own);
    else await adapter.evaluate(prompt, { ...own, toolChoice: "required" });
    return simulator.requests[0]?.body;
  };

  test.each(["claude-opus-5-5", "claude-sonnet-5-5", "claude-fable-5-1", "claude-fable-5-2"])(
    "AIS-27 %s, whose calls are never forced, thinks as ever",
    async (id) => {
      for (const how of ["record", "required"] as const) {
        expect(await bodyOf(id, how, "low")).toMatchObject({
          thinking: { type: "adaptive" },
          output_config: { effort: "low" },
          tool_choice: { type: "auto" },
        });
      }
    },
  );

  test("AIS-27 claude-fable-5, whose calls are forced, gets the effort alone", async () => {
    for (const how of ["record", "required"] as const) {
      const body = await bodyOf("claude-fable-5", how, "minimal");
      expect(body).toMatchObject({ output_config: { effort: "low" }, tool_choice: { type: "any" } });
      expect(body).not.toHaveProperty("thinking");
    }
    const providerOptions = { anthropic: { thinking: { type: "adaptive" } } };
    expect(await bodyOf("claude-fable-5", "required", undefined, { providerOptions })).not.toHaveProperty("thinking");
  });

  test.each(["claude-opus-5-5", "claude-haiku-5-5"])(
    "AIS-27 tokens that %s does not take are not taken from its bound",
    async (id) => {
      const providerOptions = { anthropic: { thinking: { type: "enabled", budgetTokens: 2_000 } } };
      await using simulator = await startSimulator({ steps: [{ text: "done" }] });
      const model = createAnthropic({ apiKey: "k", baseURL: simulator.baseURL })(id);
      await aiSdk({ model, providerOptions, maxOutputTokens: 5_000 }).evaluate("Hello.");
      expect(simulator.requests[0]?.body).toMatchObject({ max_tokens: 5_000, thinking: { type: "adaptive" } });
    },
  );
});
