import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSdk, litellm } from "@proviso/adapter-ai-sdk";
import { openai } from "@proviso/adapter-openai";
import {
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  type EvaluationFailure,
  type Message,
  type ProviderAdapter,
  type SessionEvent,
  trackBudget,
} from "@proviso/core";
import { contentHash } from "@proviso/core/internal";
import { append, createSession, type AdapterOptions } from "@proviso/runtime";
import { recordEvents } from "@proviso/runtime/testing";
import { startSimulator, type AnswerStep, type SimulatorStep } from "@proviso/simulator";
import { describe, expect, test } from "vitest";
import { z } from "zod";

/** Where the service is, and what every adapter takes. */
interface Connection {
  readonly at: { readonly baseURL: string; readonly apiKey: string };
  readonly given: AdapterOptions;
}
const store = { providerOptions: { openai: { store: false } } };
const reference = ({ at, given }: Connection): ProviderAdapter =>
  openai({ model: "gpt-test", api: "responses", ...at, ...given });
const others: Readonly<Record<string, (connection: Connection) => ProviderAdapter>> = {
  "openai, chat": ({ at, given }) => openai({ model: "gpt-test", api: "chat", ...at, ...given }),
  "@ai-sdk/openai, responses": ({ at, given }) =>
    aiSdk({ model: createOpenAI(at).responses("gpt-test"), ...store, ...given }),
  "@ai-sdk/openai, chat": ({ at, given }) => aiSdk({ model: createOpenAI(at).chat("gpt-test"), ...given }),
  "@ai-sdk/openai-compatible": ({ at, given }) => {
    const connection = { name: "here", supportsStructuredOutputs: true, ...at };
    return aiSdk({ model: createOpenAICompatible({ ...connection, includeUsage: true })("gpt-test"), ...given });
  },
  litellm: ({ at, given }) => litellm({ model: "openai/gpt-test", ...at, ...given }),
};

const looked = defineEvent("looked", z.object({ word: z.string() }));
const words = defineSlice<readonly string[]>({
  name: "words",
  initial: [],
  reducers: (on) => on.on(looked, (state, { word }) => append(state, word)),
});
const lookUp = defineTool({
  name: "look_up",
  description: "Looks a word up.",
  input: z.object({ word: z.string() }),
  execute: ({ word }, { session }) => {
    session.dispatch(looked({ word }));
    if (word === "b") throw new Error("There is no such word.");
    return { word, found: true };
  },
});
const prompt = definePrompt({
  ns: "tests",
  key: "same",
  params: z.object({ word: z.string() }),
  output: z.object({ word: z.string(), tags: z.array(z.string()) }),
  sections: [
    { key: "guide", text: "Look words up.", tools: [lookUp], slices: [words] },
    { key: "request", text: "{{word}}", role: "user" },
  ],
});

const usage = { input_tokens: 100, output_tokens: 10, prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
const thoughts = { reasoning_tokens: 2_000 };
/** As xAI counts: the thoughts are not in the tokens of the answer, but in the total. */
const thoughtsBeside = {
  ...usage,
  total_tokens: usage.total_tokens + thoughts.reasoning_tokens,
  output_tokens_details: thoughts,
  completion_tokens_details: thoughts,
};
const call = (id: string, given: object | string, name = "look_up") => ({ id, name, arguments: given });
const answer: AnswerStep = { output: { word: "a", tags: [] }, usage };
const refusedWith = (status: number, code: string, headers = {}): SimulatorStep => ({
  status,
  headers,
  body: { error: { message: "No.", type: "t", param: null, code } },
});

const scripts: Readonly<Record<string, readonly SimulatorStep[]>> = {
  "a plain answer": [answer],
  "calls that work, fail, do not fit and are unknown": [
    {
      text: "I look.",
      toolCalls: [
        call("c1", '{ "word":"a" }'),
        call("c2", { word: "b" }),
        call("c3", { word: 5 }),
        call("c4", "{}", "find"),
      ],
      usage,
    },
    { toolCalls: [call("c5", { word: "c" })], usage },
    answer,
  ],
  "arguments that are no object": [
    { toolCalls: [call("c1", "{bad"), call("c2", "[1]"), call("c3", "")], usage },
    answer,
  ],
  "the same id twice": [{ toolCalls: [call("c1", { word: "a" }), call("c1", { word: "c" })], usage }, answer],
  "refusals that pass": [
    refusedWith(429, "rate_limit_exceeded", { "retry-after-ms": "3" }),
    refusedWith(503, "busy"),
    answer,
  ],
  "refusals that do not": [refusedWith(500, "a"), refusedWith(500, "b"), refusedWith(500, "c")],
  "an exhausted quota": [refusedWith(429, "insufficient_quota")],
  "a bad request": [refusedWith(400, "invalid")],
  "a context that is too long": [refusedWith(400, "context_length_exceeded")],
  "a wrong key": [refusedWith(401, "invalid_api_key")],
  "a body that is cut": [{ status: 200, body: '{"id":"resp_01","ou' }, answer],
  "a body that is HTML": [{ status: 200, body: "<html>" }],
  "an answer that is refused": [{ refusal: "I cannot.", usage }],
  "an answer that is cut short": [{ text: '{"word":', finishReason: "length", usage }],
  "an answer that is filtered": [{ text: "", finishReason: "content_filter", usage }],
  "an empty answer": [{ text: "", usage }],
  "an answer without usage": [{ ...answer, usage: null }],
  "a usage below zero": [{ ...answer, usage: { ...usage, input_tokens: -1, prompt_tokens: -1 } }],
  "an output that does not fit": [{ output: { word: "a" }, usage }],
  "an output with keys of its own": [{ output: { word: "a", tags: [], more: 1 }, usage }],
  "an output that is no JSON": [{ text: "I would rather not.", usage }],
};

interface Outcome {
  readonly events: unknown;
  readonly messages: unknown;
  readonly digest: string;
  readonly end: unknown;
  readonly requests: number;
}

type Way = "JSON" | "SSE";

async function outcomeOf(
  make: (connection: Connection) => ProviderAdapter,
  steps: readonly SimulatorStep[],
  way: Way,
): Promise<Outcome> {
  await using simulator = await startSimulator({ steps });
  let ids = 0;
  const session = createSession({ id: "s" });
  const events = recordEvents(session);
  const adapter = make({
    at: { baseURL: simulator.baseURL, apiKey: "key-12345678" },
    given: {
      random: () => 0,
      newId: () => `id-${++ids}`,
      throttle: { maxAttempts: 3, maxTotalDelayMs: 1_000 },
    },
  });
  const bound = prompt.bind({ word: "a" });
  const asked = way === "JSON" ? adapter.evaluate(bound, { session }) : adapter.stream(bound, { session }).response;
  const ended = await asked.catch((error: EvaluationFailure) => error);
  const { messages, toolResults, usage: spent } = ended;
  const end =
    ended instanceof Error
      ? { why: whyOf(ended), phase: ended.phase, message: ended.message, spent }
      : { output: ended.output, text: ended.text, turns: ended.turns, finishReason: ended.finishReason, spent };
  return {
    events: events.map(setAside),
    messages: messages.map(setAside),
    digest: contentHash({ words: session.get(words), results: toolResults.map(({ result }) => result) }),
    end,
    requests: simulator.requests.length,
  };
}

function whyOf(error: EvaluationFailure): string {
  if (error.code === "throttled") return error.kind;
  return error.code === "provider" ? error.reason : error.code;
}

/** What PRO-1 sets aside: times, adapter, model, provider items, and ids that the script does not give. */
const aside = new Set(["at", "durationMs", "adapter", "model", "providerItems"]);

function setAside(told: SessionEvent | Message): unknown {
  return JSON.parse(JSON.stringify(told), (key, value: unknown) => {
    if (aside.has(key)) return undefined;
    const isMadeUp = (key === "id" || key === "callId") && !/^c\d$/.test(String(value));
    return isMadeUp ? "made up" : value;
  });
}

const expected = new Map<string, Promise<Outcome>>();
function expectedOf(name: string, way: Way): Promise<Outcome> {
  const key = `${name}, ${way}`;
  const found = expected.get(key) ?? outcomeOf(reference, scripts[name] ?? [], way);
  expected.set(key, found);
  return found;
}

/** In place of a stream: what an SDK read away as one cannot be told from another. */
const bodies = ["a body that is cut", "a body that is HTML"];
const cells = (["JSON", "SSE"] as const).flatMap((way) =>
  Object.keys(scripts)
    .filter((name) => way === "JSON" || !bodies.includes(name))
    .map((name) => [name, way] as const),
);

test("LIM-6 thoughts that a service counts beside the answer are in the output, and are paid for", async () => {
  const steps = [{ ...answer, usage: thoughtsBeside }];
  const given = { pricing: { input: 3, output: 15 } };
  for (const make of [reference, ...Object.values(others)]) {
    for (const way of ["evaluate", "stream"] as const) {
      await using simulator = await startSimulator({ steps });
      const budget = trackBudget({ maxOutputTokens: 5_000 });
      const adapter = make({ at: { baseURL: simulator.baseURL, apiKey: "key-12345678" }, given });
      const bound = prompt.bind({ word: "a" });
      const asked =
        way === "evaluate" ? adapter.evaluate(bound, { budget }) : adapter.stream(bound, { budget }).response;
      const { usage: spent } = await asked;
      expect(spent).toMatchObject({
        inputTokens: 100,
        outputTokens: 2_010,
        reasoningTokens: 2_000,
        totalTokens: 2_110,
      });
      expect(spent.costUsd).toBeCloseTo((100 * 3 + 2_010 * 15) / 1e6, 9);
      expect(budget.consumed).toEqual(spent);
    }
  }
});

describe.each(Object.entries(others))("%s", (_, make) => {
  test.each(cells)("PRO-1 %s, %s: the same events, messages and state as on adapter-openai", async (name, way) => {
    expect(await outcomeOf(make, scripts[name] ?? [], way)).toEqual(await expectedOf(name, way));
  });
});

test("PRO-1 each script ends as it says, so that the comparison says something", async () => {
  const outcomes = await Promise.all(Object.keys(scripts).map((name) => expectedOf(name, "JSON")));
  const ends = outcomes.map(({ end }) => (end as { readonly why?: string }).why ?? "answered");
  expect(ends.join(" ")).toBe(
    "answered answered answered answered answered server_error quota_exhausted bad_request context_length api_key " +
      "answered invalid_response refusal truncated content_filter invalid_response " +
      "answered answered output output output",
  );
  expect(outcomes.map(({ requests }) => requests).join("")).toBe("132233111121111111111");
});
