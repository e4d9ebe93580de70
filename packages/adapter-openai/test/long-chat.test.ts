import { openai } from "@proviso/adapter-openai";
import { defineTool, parseMessages, type HistoryCompacted, type Message, definePrompt } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { startSimulator, type SimulatedRequest, type SimulatorStep } from "@proviso/simulator";
import { describe, expect, inject, test } from "vitest";
import { z } from "zod";

const window = 32_000;
const turns = inject("exhaustive") ? 400 : 120;
const answerTokens = 1_000;

/** A service with a window and a cache of prompts: it counts a token for four characters of what was really sent. */
function service() {
  let before = "";
  const cached: number[] = [];
  const sent: number[] = [];
  const answer = (request: SimulatedRequest): SimulatorStep => {
    const { api, messages, tools, index } = request;
    const text = JSON.stringify([tools, messages]);
    const tokens = Math.ceil(text.length / 4);
    if (tokens + answerTokens > window) {
      const message = `This model's maximum context length is ${window} tokens.`;
      return {
        status: 400,
        body: { error: { message, type: "invalid_request_error", code: "context_length_exceeded" } },
      };
    }
    const common = Math.floor(commonLength(before, text.slice(0, -1)) / 4);
    before = text.slice(0, -1);
    cached.push(common);
    sent.push(tokens);
    const details = { cached_tokens: common };
    const usage =
      api === "chat"
        ? { prompt_tokens: tokens, prompt_tokens_details: details }
        : { input_tokens: tokens, input_tokens_details: details };
    const isAsked = messages.at(-1)?.role === "user";
    // Every other exchange reads something first.
    if (isAsked && index % 3 === 0) return { toolCalls: [{ name: "look", arguments: { at: index } }], usage };
    return { text: `Answer ${index}. `.padEnd(400, "a"), usage };
  };
  return { cached, sent, rules: [answer] };
}

function commonLength(first: string, second: string): number {
  let [least, most] = [0, Math.min(first.length, second.length)];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (second.startsWith(first.slice(0, middle))) least = middle;
    else most = middle - 1;
  }
  return least;
}

const look = defineTool({
  name: "look",
  description: "Looks something up.",
  input: z.object({ at: z.number() }),
  readOnly: true,
  execute: ({ at }) => `Found ${at}: `.padEnd(1_600, "f"),
});
const turn = definePrompt({
  key: "turn",
  params: z.object({ said: z.string() }),
  sections: [
    { key: "guide", text: "Answer in a few words.", tools: [look] },
    { key: "said", text: "{{said}}", role: "user" },
  ],
});

describe.each(["responses", "chat"] as const)("a conversation over %s", (api) => {
  test(`CTX-1 CTX-6 ${turns} turns in a window of 32,000 tokens never fail and keep their cached prefix`, async () => {
    const { rules, cached, sent } = service();
    await using simulator = await startSimulator({ rules, keepRequests: false });
    const adapter = openai({
      model: "m",
      api,
      apiKey: "sk-test-0123456789",
      baseURL: simulator.baseURL,
      maxOutputTokens: answerTokens,
    });
    const session = createSession();
    const compacted: HistoryCompacted[] = [];
    session.on("history.compacted", (event) => void compacted.push(event));
    let messages: readonly Message[] = [];
    for (let said = 0; said < turns; said++) {
      const prompt = turn.bind({ said: `Question ${said}: `.padEnd(500, "q") });
      const response = await adapter.evaluate(prompt, { session, messages, context: { window } });
      // As a chat does that is kept in a file.
      messages = said % 10 === 0 ? parseMessages(JSON.parse(JSON.stringify(response.messages))) : response.messages;
    }
    expect(sent.length).toBeGreaterThan(turns);
    expect(Math.max(...sent)).toBeLessThanOrEqual(window - answerTokens);
    expect(compacted.length).toBeGreaterThan(2);
    expect(compacted.every(({ why }) => why === "threshold")).toBe(true);
    // Without a policy every request would begin with the one before; now each does that was not shortened.
    const all = sent.reduce((sum, tokens) => sum + tokens, 0);
    const fresh = all - cached.reduce((sum, tokens) => sum + tokens, 0);
    const misses = cached.filter((tokens, index) => index > 0 && tokens < (sent[index - 1] ?? 0) - 100);
    expect(misses.length).toBeLessThanOrEqual(compacted.length);
    expect(fresh / all).toBeLessThan(0.1);
  }, 1_800_000);
});
