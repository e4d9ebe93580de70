import { openai, openaiModel, type OpenAIOptions } from "@proviso/adapter-openai";
import { definePrompt, isEvaluationFailure, trackBudget } from "@proviso/core";
import { startSimulator, type Simulator } from "@proviso/simulator";
import { AzureOpenAI } from "openai";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const ask = definePrompt({ key: "ask", params: z.object({ text: z.string() }), text: "Sum up: {{text}}" });
const long = "word ".repeat(2_000);
const answer = "One more sentence. ".repeat(200);

const bodies = (simulator: Simulator) => simulator.requests.map(({ body }) => body as Record<string, unknown>);
const adapterFor = (simulator: Simulator, more: Partial<OpenAIOptions> = {}) =>
  openai({ model: "gpt-5.4", baseURL: simulator.baseURL, apiKey: "k", ...more });

describe.each([
  ["responses", "max_output_tokens", 16],
  ["chat", "max_completion_tokens", 1],
] as const)("over %s", (api, field, least) => {
  test(`LIM-10 the budget's rest is sent as ${field}, and the smaller bound counts`, async () => {
    await using simulator = await startSimulator({ rules: [() => ({ text: answer })] });
    const failed = async (budget: number, more?: Partial<OpenAIOptions>): Promise<string> => {
      const options = { budget: { maxOutputTokens: budget } };
      const error: unknown = await adapterFor(simulator, { api, ...more })
        .evaluate(ask.bind({ text: "a" }), options)
        .catch((thrown: unknown) => thrown);
      if (!isEvaluationFailure(error)) throw error;
      return error.code === "budget" ? `budget: ${error.text}` : error.code;
    };
    expect(await failed(100)).toBe(`budget: ${answer.slice(0, 400)}`);
    expect(await failed(100, { maxOutputTokens: 50 })).toBe("provider");
    expect(await failed(100, { maxOutputTokens: 500 })).toBe(`budget: ${answer.slice(0, 400)}`);
    expect(await failed(100, { extraBody: { [field]: 60 } })).toBe("provider");
    expect(await failed(100, { extraBody: { [field]: 600 } })).toBe(`budget: ${answer.slice(0, 400)}`);
    expect(bodies(simulator).map((body) => body[field])).toEqual([100, 50, 100, 60, 100]);
    expect(await failed(least)).toMatch(/^budget: One/);
    expect(openaiModel({ model: "m", apiKey: "k", api }).capabilities.outputLimit).toEqual({ least });
  });

  test("LIM-10 a stand-in for the client is asked for the same", async () => {
    const asked: unknown[] = [];
    const create = (body: unknown): unknown => {
      asked.push((body as Record<string, unknown>)[field]);
      return Promise.reject(new Error("no"));
    };
    const client = { responses: { create }, chat: { completions: { create } } };
    await openai({ model: "m", api, client })
      .evaluate(ask.bind({ text: "a" }), { budget: { maxOutputTokens: 77 } })
      .catch(() => {});
    expect(asked).toEqual([77]);
  });
});

test.each([
  ["a compatible server's", "gemma4", {}, "max_tokens"],
  ["OpenAI's open", "gpt-oss:20b", {}, "max_tokens"],
  ["OpenAI's own", "gpt-5.4", {}, "max_completion_tokens"],
  ["OpenAI's own, by a route,", "openai/o3", {}, "max_completion_tokens"],
  ["a compatible server's", "gemma4", { extraBody: { max_completion_tokens: 5_000 } }, "max_completion_tokens"],
] as const)("LIM-10 %s model %s is bounded by the name that it knows: %j, %s", async (_, model, options, name) => {
  await using simulator = await startSimulator({ rules: [() => ({ text: "done" })] });
  const adapter = adapterFor(simulator, { api: "chat", model, ...options });
  await adapter.evaluate("Count.", { settings: { maxOutputTokens: 50 } });
  await adapterFor(simulator, { api: "chat", model, maxOutputTokens: 60, ...options }).evaluate("Count.");
  await adapter.evaluate("Count.", { budget: { maxOutputTokens: 70 } });
  const sent = bodies(simulator).map(({ max_tokens: older, max_completion_tokens: newer }) => ({ older, newer }));
  const own = "extraBody" in options ? 5_000 : 60;
  expect(sent.map(({ older, newer }) => (name === "max_tokens" ? older : newer))).toEqual([50, own, 70]);
  expect(sent.some(({ older, newer }) => (name === "max_tokens" ? newer : older) !== undefined)).toBe(false);
});

test.each([
  ["https://eu.api.openai.com/v1", "an-alias", "max_completion_tokens"],
  ["https://x.openai.azure.us/openai/v1", "reasoner", "max_completion_tokens"],
  ["https://x.openai.azure.com/openai/v1", "reasoner", "max_completion_tokens"],
  ["https://corp.azure-api.net/openai/v1", "reasoner", "max_completion_tokens"],
  ["https://gateway.example/v1", "codex-mini-latest", "max_completion_tokens"],
  ["https://gateway.example/v1", "openai/GPT-5", "max_completion_tokens"],
  ["https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1", "openai.gpt-5.4", "max_completion_tokens"],
  ["https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1", "openai.gpt-oss-120b-1:0", "max_tokens"],
  ["https://notopenai.com/v1", "reasoner", "max_tokens"],
  ["https://gateway.example/v1", "phi-4.o", "max_tokens"],
])("LIM-10 at %s a length of %s goes out as %s", async (baseURL, model, name) => {
  let sent: unknown;
  const choices = [{ index: 0, message: { role: "assistant", content: "x" }, finish_reason: "stop" }];
  const fetch = ((_: unknown, { body }: RequestInit) => {
    sent = JSON.parse(body as string);
    return Promise.resolve(Response.json({ choices }));
  }) as typeof globalThis.fetch;
  await openai({ model, api: "chat", apiKey: "k", baseURL, fetch, maxOutputTokens: 50 }).evaluate("Count.");
  expect(Object.keys(sent as object).filter((key) => key.startsWith("max_"))).toEqual([name]);
});

test("LIM-10 a client of Azure sends a length as its deployments take it, whatever their names and addresses are", async () => {
  const sent: string[] = [];
  const choices = [{ index: 0, message: { role: "assistant", content: "x" }, finish_reason: "stop" }];
  const client = new AzureOpenAI({
    apiKey: "k",
    apiVersion: "2024-10-21",
    baseURL: "https://models.corp.internal/openai",
    fetch: async (_, init) => {
      sent.push(...Object.keys(JSON.parse(init?.body as string) as object).filter((key) => key.startsWith("max_")));
      return Response.json({ choices });
    },
  });
  await openai({ model: "reasoner", api: "chat", client, maxOutputTokens: 50 }).evaluate("Count.");
  expect(sent).toEqual(["max_completion_tokens"]);
});

test("LIM-10 a server that knows max_tokens alone is asked by that name, where extraBody has it", async () => {
  await using simulator = await startSimulator({ rules: [() => ({ text: answer })] });
  const adapter = adapterFor(simulator, { api: "chat", extraBody: { max_tokens: 5_000 } });
  await adapter.evaluate(ask.bind({ text: "a" }), { budget: { maxOutputTokens: 90 } }).catch(() => {});
  expect(bodies(simulator)[0]).toMatchObject({ max_tokens: 90 });
  expect(bodies(simulator)[0]).not.toHaveProperty("max_completion_tokens");
});

test("LIM-10 a 400 that says the limit was reached is the budget's end: nothing is asked for without a limit", async () => {
  const message =
    "Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens.";
  const body = { error: { message, type: "invalid_request_error", param: null, code: null } };
  for (const api of ["chat", "responses"] as const) {
    await using simulator = await startSimulator({ rules: [() => ({ status: 400, body })] });
    const budget = trackBudget({ maxOutputTokens: 90 });
    const ended = adapterFor(simulator, { api }).evaluate(ask.bind({ text: "a" }), { budget });
    await expect(ended).rejects.toMatchObject({ code: "budget", dimension: "output_tokens", spent: 90 });
    expect(simulator.requests).toHaveLength(1);
  }
});

test("LIM-12 the cost is priced from the catalog", async () => {
  await using simulator = await startSimulator({
    rules: [() => ({ text: "Short.", usage: { input_tokens: 1_000, output_tokens: 1_000, total_tokens: 2_000 } })],
  });
  const { usage } = await adapterFor(simulator, { api: "responses" }).evaluate(ask.bind({ text: "a" }));
  // 2.50 dollars for a million of the input, 15 of the output.
  expect(usage.costUsd).toBeCloseTo(0.0175, 9);
});

describe("LIM-5 100 evaluations at once on one budget of 5,000 tokens", () => {
  const runAll = async (simulator: Simulator, text: string, more: Partial<OpenAIOptions> = {}) => {
    const budget = trackBudget({ maxTotalTokens: 5_000 });
    const adapter = adapterFor(simulator, more);
    const ended = await Promise.allSettled(
      Array.from({ length: 100 }, () => adapter.evaluate(ask.bind({ text }), { budget })),
    );
    const errors = ended.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
    for (const error of errors) {
      if (!isEvaluationFailure(error) || error.code !== "budget") throw error;
      expect(error.message.includes("is spent") && error.spent === 0, error.message).toBe(false);
    }
    expect(budget.remaining().totalTokens).toBe(5_000 - budget.consumed.totalTokens);
    return { consumed: budget.consumed.totalTokens, answered: 100 - errors.length };
  };

  test.each<[string, string, string, Partial<OpenAIOptions>]>([
    ["long prompts", long, "Short.", {}],
    ["long answers", "a", answer, {}],
    ["long answers that are bounded", "a", answer, { maxOutputTokens: 1_000 }],
    ["long answers over chat", "a", answer, { api: "chat" }],
  ])("LIM-5 %s consume at most 5,500", async (_, text, reply, more) => {
    await using simulator = await startSimulator({ rules: [() => ({ text: reply })] });
    const { consumed } = await runAll(simulator, text, more);
    expect(consumed).toBeGreaterThan(2_000);
    expect(consumed).toBeLessThanOrEqual(5_500);
  });

  test("LIM-5 what fits one after another is answered, all of it", async () => {
    await using simulator = await startSimulator({ rules: [() => ({ text: "Short." })] });
    expect(await runAll(simulator, "a")).toMatchObject({ answered: 100 });
  });
});
