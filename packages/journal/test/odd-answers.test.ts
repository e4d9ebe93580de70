// What a provider returns beside its answer may be anything. Its record can be read nevertheless.
import { definePrompt, defineTool, type ModelProvider } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { agentAdapter, modelAdapter } from "@proviso/runtime";
import { fallback, hedged } from "@proviso/runtime/routing";
import { expect, it } from "vitest";
import { z } from "zod";

const prompt = definePrompt({ key: "ask", text: "Hello?" }).bind();

const throwing = {
  get inputTokens(): number {
    throw new Error("Not counted.");
  },
};
const usage = { inputTokens: 11, outputTokens: 7 };
const odd: readonly (readonly [what: string, beside: Readonly<Record<string, unknown>>])[] = [
  ["a text as usage", { usage: "12" }],
  ["a list as usage", { usage: [1] }],
  ["null as usage", { usage: null }],
  ["counts in texts", { usage: { inputTokens: "11", outputTokens: "7" } }],
  ["counts that are no numbers", { usage: { ...usage, inputTokens: NaN, totalTokens: Infinity } }],
  ["details beside the counts", { usage: { ...usage, inputTokenDetails: { cached: 1 }, raw: { prompt_tokens: 11 } } }],
  ["a cost in a text", { usage: { ...usage, costUsd: "0.1" } }],
  ["counts that throw", { usage: throwing }],
  ["a wait in its queue that is no number", { usage, queuedMs: NaN }],
  ["a rate limit of another form", { usage, rateLimit: { requests: "5", tokens: NaN, tokensLeft: 7 } }],
  ["sources, tokens and tries of another form", { usage, sources: [null], logprobs: [7], route: ["a"] }],
];

function modelWith(answer: Readonly<Record<string, unknown>>): ModelProvider {
  const capabilities = { tools: true, nativeOutput: true };
  return { name: "m", model: "m-1", capabilities, generate: async () => answer as never };
}

it.each(odd)("PRO-10 RPL-1 a recorded run whose provider returns %s can be read, and replays", async (_, beside) => {
  const journal = memoryJournal();
  const message = { role: "assistant", text: "Hello.", toolCalls: [] };
  const adapter = modelAdapter(modelWith({ message, finishReason: "stop", ...beside }));
  const live = await adapter.evaluate(prompt, { run: journal.run("r") });
  expect((await journal.describe("r"))?.usage).toEqual(live.usage);
  const { response } = await replay(prompt, journal.replay("r"));
  expect(response?.usage).toEqual(live.usage);
});

it.each(odd)("PRO-10 RPL-7 so can one whose provider fails, and returns %s", async (_, beside) => {
  const journal = memoryJournal();
  const failure = { failure: "provider", reason: "invalid_response", message: "No.", status: NaN, ...beside };
  const evaluating = modelAdapter(modelWith(failure)).evaluate(prompt, { run: journal.run("r") });
  const live = (await evaluating.catch((error: unknown) => error)) as { readonly usage: unknown };
  expect((await journal.describe("r"))?.state).toBe("failed");
  const { failure: again } = await replay(prompt, journal.replay("r"));
  expect(again).toMatchObject({ usage: live.usage });
});

it("PRO-10 what a provider streams that is no delta is passed over, also in a recorded run and a chain", async () => {
  const message = { role: "assistant", text: "Hello.", toolCalls: [] } as const;
  const model: ModelProvider = {
    ...modelWith({}),
    async generate({ onDelta }) {
      for (const delta of [null, 7, { kind: "text", text: "Hello." }]) onDelta?.(delta as never);
      return { message, finishReason: "stop", usage };
    },
  };
  const [one, other] = [modelAdapter(model), modelAdapter({ ...model, name: "other" })];
  for (const each of [one, fallback([one, other]), hedged([one, other], { afterMs: 10_000 })]) {
    const { response } = each.stream(prompt, { run: memoryJournal().run("r") });
    expect((await response).text).toBe("Hello.");
  }
});

it("PRO-10 RPL-1 a call of a driver whose arguments are no text fails, and its record can be read", async () => {
  const journal = memoryJournal();
  const calls = ["{}", { a: 1 }, 7].map((given, at) => ({ id: `c${at}`, name: "t", arguments: given as string }));
  const tool = defineTool({ name: "t", description: "Runs.", input: z.object({}), execute: () => "ran" });
  const asking = definePrompt({ key: "agent", sections: [{ key: "task", text: "Go.", tools: [tool] }] }).bind();
  const adapter = agentAdapter({
    name: "agent",
    model: "agent-1",
    async drive({ executeToolCall, onDelta }) {
      onDelta(null as never);
      for (const call of calls) await executeToolCall(call);
      return { message: { role: "assistant", text: "Done.", toolCalls: [] }, finishReason: "stop", usage };
    },
  });
  const live = await adapter.evaluate(asking, { run: journal.run("r") });
  expect(live.toolResults.map(({ result }) => result.success)).toEqual([true, false, false]);
  const { response } = await replay(asking, journal.replay("r"));
  expect(response?.messages).toEqual(live.messages);
});

it("PRO-10 details beside the counts are no part of the usage, and do not make it an estimate", async () => {
  const message = { role: "assistant", text: "Hello.", toolCalls: [] };
  const answer = { message, finishReason: "stop", usage: { ...usage, raw: { prompt_tokens: 11 } } };
  const live = await modelAdapter(modelWith(answer)).evaluate(prompt);
  expect(live.usage).toMatchObject({ inputTokens: 11, outputTokens: 7, totalTokens: 18, estimated: false });
});
