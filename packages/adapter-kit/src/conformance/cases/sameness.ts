import type { Message, Prompt, SessionEvent } from "@proviso/core";
import { expect } from "vitest";
import { modelAdapter, createSession } from "@proviso/runtime";
import { benchOf, whyOf, type ConformanceCase, type Played, type Way } from "../kit.ts";
import { notes, plain, toolPrompt, toolsAndTotal, totalPrompt } from "../prompts.ts";
import { referenceModel } from "../reference.ts";
import type { ConformanceScript, ConformanceSettings } from "../script.ts";
import { refusal } from "./failures.ts";

const usage = { inputTokens: 100, outputTokens: 20, totalTokens: 120, cachedInputTokens: 0, reasoningTokens: 0 };
const call = (id: string, given: object | string, name = "note") => ({ id, name, arguments: given });
const hello = { text: "Hello.", usage };
const total = { output: { total: 2 }, usage };

const scripts: Readonly<Record<string, readonly [Prompt, ConformanceScript, tools?: "tools"]>> = {
  "a plain answer": [plain, [hello]],
  "a structured answer": [totalPrompt, [total]],
  "an output that does not fit": [totalPrompt, [{ output: { total: "two" }, usage }]],
  "an output that is no JSON": [totalPrompt, [{ text: "I would rather not.", usage }]],
  "calls that work, fail, do not fit and are unknown": [
    toolsAndTotal,
    [
      {
        text: "I note.",
        toolCalls: [
          call("c1", '{ "text":"one" }'),
          call("c2", { text: "bad" }),
          call("c3", { text: 5 }),
          call("c4", {}, "find"),
          call("c5", "{bad"),
        ],
        usage,
      },
      { toolCalls: [call("c6", { text: "two" }), call("c7", "", "count")], usage },
      total,
    ],
    "tools",
  ],
  "the same id twice": [
    toolPrompt,
    [{ toolCalls: [call("c1", { text: "one" }), call("c1", { text: "two" })], usage }, hello],
    "tools",
  ],
  "refusals that pass": [plain, [refusal(429, { "retry-after-ms": "3" }), refusal(503), hello]],
  "refusals that do not": [plain, Array.from({ length: 5 }, () => refusal(500))],
  "an exhausted quota": [plain, [refusal(429, {}, "insufficient_quota")]],
  "a bad request": [plain, [refusal(400)]],
  "a context that is too long": [plain, [refusal(400, {}, "context_length_exceeded")]],
  "a wrong key": [plain, [refusal(401, {}, "invalid_api_key")]],
  "a failure after a tool": [toolPrompt, [{ toolCalls: [call("c1", { text: "one" })], usage }, refusal(404)], "tools"],
  "a refused answer": [plain, [{ refusal: "I cannot.", usage }]],
  "an answer that is cut short": [plain, [{ text: "Once", finishReason: "length", usage }]],
  "a filtered answer": [plain, [{ text: "Once", finishReason: "content-filter", usage }]],
  "an empty answer": [plain, [{ text: "", usage }]],
};

/** Cases that compare each adapter with the reference in process: one script gives equal events, messages and state. */
export const samenessCases: readonly ConformanceCase[] = Object.entries(scripts).map(
  ([name, [prompt, script, tools]]) => ({
    title: `PRO-1 the same events, messages and state as in process${tools === undefined ? "" : ", with tools"}: ${name}`,
    async run({ play, way }) {
      const session = (): ReturnType<typeof createSession> => createSession({ id: "conformance", slices: [notes] });
      const played = await play(script, prompt, { session: session() });
      // Where the schema goes is the model's own matter.
      const native = prompt.template.name.includes("total") ? played.requests[0]?.output !== undefined : true;
      const expected = await referenceOf(script, native, way).play(script, prompt, { session: session() });
      expect(whyOf(played)).toBe(whyOf(expected));
      expect(viewOf(played)).toEqual(viewOf(expected));
    },
  }),
);

function referenceOf(script: ConformanceScript, nativeOutput: boolean, way: Way): ReturnType<typeof benchOf> {
  const start = async (_: ConformanceScript, { random }: ConformanceSettings) => ({
    adapter: modelAdapter(referenceModel(script, nativeOutput), { random }),
    requests: () => [],
    close: async () => {},
  });
  return benchOf({ start }, way);
}

function viewOf({ response, error, events, session }: Played<unknown>): unknown {
  const { messages, toolResults, usage: spent } = response ?? error ?? {};
  return {
    events: merged(events.filter(({ type }) => type !== "output.delta")).map(setAside),
    messages: messages?.map(setAside),
    results: toolResults?.map(({ result }) => result),
    usage: spent && { ...spent, costUsd: undefined },
    notes: session.get(notes),
    end:
      response === undefined
        ? { phase: error?.phase, message: error?.message }
        : { output: response.output, text: response.text, turns: response.turns, reason: response.finishReason },
  };
}

/**
 * Merges the deltas of a turn into one, because each wire cuts a text in its own way. Deltas that a reset took back are
 * dropped.
 */
function merged(events: readonly SessionEvent[]): readonly SessionEvent[] {
  const all: SessionEvent[] = [];
  for (const event of events) {
    const last = all.at(-1);
    if (event.type === "text.delta" && last?.type === "text.delta" && "text" in event && "text" in last) {
      all[all.length - 1] = { ...last, text: `${String(last.text)}${String(event.text)}` } as SessionEvent;
    } else if (event.type === "text.reset") all.pop();
    else all.push(event);
  }
  return all;
}

const aside = new Set(
  [
    "at",
    "durationMs",
    "delayMs",
    "queuedMs",
    "route",
    "adapter",
    "model",
    "providerItems",
    "evaluationId",
    "seq",
  ].concat(
    // Whether the price of a model is known does not depend on the adapter.
    "costUsd",
    // The service names it, or does not.
    "serviceTier",
  ),
);

/** Removes what PRO-1 does not compare. Ids that the script did not give are made up on both sides. */
function setAside(seen: SessionEvent | Message): unknown {
  return JSON.parse(JSON.stringify(seen), (key, value: unknown) => {
    if (aside.has(key)) return undefined;
    const madeUp = (key === "id" || key === "callId") && !/^(?:c\d|conformance)$/.test(String(value));
    return madeUp ? "made up" : value;
  });
}
