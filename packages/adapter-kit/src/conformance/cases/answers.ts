import { expect } from "vitest";
import { answered, eventsOf, whyOf, type ConformanceCase } from "../kit.ts";
import { listPrompt, notes, numberPrompt, plain, toolPrompt, totalPrompt } from "../prompts.ts";

const call = (id: string, given: object | string, name = "note") => ({ id, name, arguments: given });
const usage = { inputTokens: 100, outputTokens: 20, totalTokens: 120 };

/** What is made of an answer. */
export const answerCases: readonly ConformanceCase[] = [
  {
    title: "OUT-2 OUT-6 a structured answer is parsed; the schema is sent beside the messages or in the text, not both",
    async run({ play }) {
      const played = await play([{ output: { total: 2 } }], totalPrompt);
      expect(answered(played).output).toEqual({ total: 2 });
      expect(answered(played).text).toBeNull();
      const [request] = played.requests;
      const inText = (request?.messages ?? []).some(({ text }) => text.includes('"total"'));
      const inSystem = request?.system?.includes('"total"') ?? false;
      expect(inText || inSystem).toBe(request?.output === undefined);
    },
  },
  {
    title: "OUT-3 lists and values come wrapped or bare",
    async run({ play }) {
      for (const output of [{ items: ["a", "b"] }, ["a", "b"]]) {
        expect(answered(await play([{ output }], listPrompt)).output).toEqual(["a", "b"]);
      }
      for (const output of [{ value: 7 }, 7]) {
        expect(answered(await play([{ output }], numberPrompt)).output).toBe(7);
      }
    },
  },
  {
    title: "OUT-1 OUT-2 an answer that does not fit, or is no JSON, is an OutputParseError with its text",
    async run({ play }) {
      const { error } = await play([{ output: { total: "two" } }], totalPrompt);
      expect(error).toMatchObject({ code: "output", rawText: '{"total":"two"}', issues: [{ path: "total" }] });
      const surplus = await play([{ output: { total: 2, more: 1 } }], totalPrompt);
      expect(surplus.error).toMatchObject({ code: "output", issues: [{ path: "more" }] });
      expect(whyOf(await play([{ text: "I would rather not." }], totalPrompt))).toBe("output");
    },
  },
  {
    title: "LOOP-6 usage comes with the cached and the reasoning tokens, and with the model that answered",
    async run({ play }) {
      const reported = { ...usage, cachedInputTokens: 40, reasoningTokens: 7 };
      const played = await play([{ text: "Hello.", usage: reported }], plain);
      // A model whose price is known has a cost too.
      expect(answered(played).usage).toEqual({
        ...reported,
        cacheWriteTokens: 0,
        estimated: false,
        costUsd: answered(played).usage.costUsd,
      });
      expect(answered(played).model).not.toBe("");
      expect(eventsOf(played, "prompt.executed")[0]?.usage).toEqual(answered(played).usage);
    },
  },
  {
    title: "LOOP-6 usage is summed over the turns",
    async run({ play }) {
      const script = [
        { toolCalls: [call("call_1", { text: "x" })], usage },
        { text: "Done.", usage },
      ];
      const played = await play(script, toolPrompt);
      const sum = { inputTokens: 200, outputTokens: 40, totalTokens: 240, estimated: false };
      expect(answered(played).usage).toMatchObject(sum);
      expect(eventsOf(played, "provider.responded").map((event) => event.usage.totalTokens)).toEqual([120, 120]);
    },
  },
  {
    title: "LIM-6 usage that is missing or negative is estimated, and zero is zero",
    async run({ play }) {
      const negative = { inputTokens: -5, outputTokens: -1, totalTokens: -6 };
      for (const odd of [null, negative]) {
        const { usage: counted } = answered(await play([{ text: "Hello.", usage: odd }], plain));
        expect(counted.estimated).toBe(true);
        expect(Math.min(counted.inputTokens, counted.outputTokens)).toBeGreaterThan(0);
      }
      const zero = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
      expect(answered(await play([{ text: "Hello.", usage: zero }], plain)).usage).toMatchObject({
        ...zero,
        estimated: false,
      });
    },
  },
  {
    title: "LOOP-5 a refusal, a filter, a cut and an empty answer are ProviderErrors, whose usage is known",
    async run({ play }) {
      const ends = [
        [{ refusal: "I cannot help with that.", usage }, "provider: refusal"],
        [{ text: "Some of it", finishReason: "content-filter", usage }, "provider: content_filter"],
        [{ text: "Some of it", finishReason: "length", usage }, "provider: truncated"],
        [{ text: "", usage }, "provider: invalid_response"],
      ] as const;
      for (const [answer, why] of ends) {
        const played = await play([answer], plain);
        expect(whyOf(played)).toBe(why);
        expect(played.error?.usage.totalTokens, why).toBe(120);
        expect(played.requests, why).toHaveLength(1);
      }
    },
  },
  {
    title: "LOOP-5 an answer that is cut inside arguments runs no tool",
    async run({ play }) {
      const toolCalls = [call("call_1", '{"text":"on')];
      const played = await play([{ toolCalls, finishReason: "length" }], toolPrompt);
      expect(whyOf(played)).toBe("provider: truncated");
      expect(eventsOf(played, "tool.requested")).toEqual([]);
    },
  },
  {
    title: "TOOL-6 several calls of a turn run in their order",
    async run({ play }) {
      const toolCalls = ["one", "two", "three"].map((text) => call(`call_${text}`, { text }));
      const played = await play([{ toolCalls }, { text: "Done." }], toolPrompt);
      expect(eventsOf(played, "tool.invoked").map(({ callId }) => callId)).toEqual(toolCalls.map(({ id }) => id));
      expect(played.session.get(notes)).toEqual(["one", "two", "three"]);
      expect(answered(played).turns).toBe(2);
    },
  },
  {
    title: "TOOL-1 TOOL-2 TOOL-3 arguments that do not fit and unknown tools are failed results, and the loop goes on",
    async run({ play }) {
      const toolCalls = [
        call("call_1", "{bad"),
        call("call_2", "[1]"),
        call("call_3", { text: 5 }),
        call("call_4", { text: "x", more: 1 }),
        call("call_5", {}, "find"),
        call("call_6", '{"__proto__":{"polluted":true}}'),
        call("call_7", "", "count"),
      ];
      const played = await play([{ toolCalls }, { text: "Done." }], toolPrompt);
      const results = answered(played).toolResults.map(({ result }) => result.success);
      expect(results).toEqual([false, false, false, false, false, false, true]);
      expect(played.session.get(notes)).toEqual([]);
    },
  },
  {
    title: "SEC-2 TOOL-3 names and ids that every object has as keys are texts like any other",
    async run({ play }) {
      const keys = ["__proto__", "constructor", "toString"];
      const unknown = keys.map((key, index) => call(`call_${index}`, {}, key));
      const known = keys.map((key) => call(key, { text: key }));
      const played = await play([{ toolCalls: unknown }, { toolCalls: known }, { text: "Done." }], toolPrompt);
      const results = answered(played).toolResults;
      expect(results.map(({ result }) => result.success)).toEqual([false, false, false, true, true, true]);
      expect(results.slice(3).map(({ callId }) => callId)).toEqual(keys);
      expect(played.session.get(notes)).toEqual(keys);
    },
  },
  {
    title: "TOOL-7 doubled and missing call ids: each call has an answer and an id of its own",
    async run({ play }) {
      const twins = [call("call_1", { text: "one" }), call("call_1", { text: "two" })];
      const nameless = [call("", { text: "three" })];
      const script = [
        { toolCalls: twins },
        { toolCalls: nameless, fault: "missing_call_id" },
        { text: "Done." },
      ] as const;
      const played = await play(script, toolPrompt);
      const ids = answered(played).toolResults.map(({ callId }) => callId);
      expect(ids.every((id) => id !== "")).toBe(true);
      expect(new Set(ids).size).toBe(3);
      expect(played.session.get(notes)).toEqual(["one", "two", "three"]);
    },
  },
  {
    title: "TX-1 what a failed call wrote is undone",
    async run({ play }) {
      const toolCalls = [call("call_1", { text: "good" }), call("call_2", { text: "bad" })];
      const played = await play([{ toolCalls }, { text: "Done." }], toolPrompt);
      expect(answered(played).toolResults.map(({ result }) => result.success)).toEqual([true, false]);
      expect(played.session.get(notes)).toEqual(["good"]);
    },
  },
];
