import type { Message, ToolChoice } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { expect } from "vitest";
import { answered, systemOf, turnsOf, type ConformanceCase } from "../kit.ts";
import { plain, saying, toolPrompt } from "../prompts.ts";
import { expectSent } from "../sent.ts";

const call = (id: string, text: string, name = "note") => ({ id, name, arguments: { text } });
const earlier: readonly Message[] = [
  { role: "system", text: "Of another prompt." },
  { role: "user", text: "Earlier question." },
  { role: "assistant", text: "I look.", toolCalls: [{ id: "call_old", name: "note", arguments: '{"text":"old"}' }] },
  { role: "tool", callId: "call_old", name: "note", text: "noted old", isError: false },
  { role: "assistant", text: "Earlier answer.", toolCalls: [] },
];

/** What a request carries. */
export const requestCases: readonly ConformanceCase[] = [
  {
    title: "LOOP-7 a request is the system text, the history without its system messages, the user text",
    async run({ play }) {
      const given = structuredClone(earlier);
      const played = await play([{ text: "Hello." }], plain, { messages: given });
      const [request] = played.requests;
      expect(given).toEqual(earlier);
      expect(systemOf(expectSent(request))).toBe("Be brief.");
      expect(turnsOf(expectSent(request))).toEqual([
        { role: "user", text: "Earlier question.", calls: [] },
        { role: "assistant", text: "I look.", calls: ['call_old note {"text":"old"}'] },
        { role: "tool", text: "noted old", calls: ["call_old"] },
        { role: "assistant", text: "Earlier answer.", calls: [] },
        { role: "user", text: "Say hello.", calls: [] },
      ]);
      expect(answered(played).output).toBe("Hello.");
      expect(answered(played).messages).toHaveLength(given.length + 1);
    },
  },
  {
    title: "LOOP-2 arguments are replayed byte for byte, with the text beside the calls",
    async run({ play }) {
      const odd = '{ "text" :\n"caf\\u00e9 \\ud83d"  }';
      const script = [
        { text: "I note it.", toolCalls: [{ id: "call_1", name: "note", arguments: odd }] },
        { toolCalls: [call("call_2", "two")] },
        { text: "Done." },
      ];
      const { requests } = await play(script, toolPrompt);
      expect(requests).toHaveLength(3);
      const [, second = [], third = []] = requests.map(turnsOf);
      const replayed = { role: "assistant", text: "I note it.", calls: [`call_1 note ${odd}`] };
      expect(second[1]).toEqual(replayed);
      expect(third[1]).toEqual(replayed);
    },
  },
  {
    title: "LOOP-2 what a request carries is the beginning of the next one",
    async run({ play }) {
      const script = [
        { text: "I note it.", toolCalls: [call("call_1", "one")] },
        { toolCalls: [call("call_2", "two"), call("call_3", "three")] },
        { text: "Done." },
      ];
      const { requests } = await play(script, toolPrompt);
      const [first = [], second = [], third = []] = requests.map(turnsOf);
      expect(second.slice(0, first.length)).toEqual(first);
      expect(third.slice(0, second.length)).toEqual(second);
      expect(third.at(-1)).toEqual({ role: "tool", text: "noted three", calls: ["call_3"] });
    },
  },
  {
    title: "LOOP-2 opaque provider items are replayed",
    async run({ play }) {
      const thought = "Let me think about this for a while.";
      const script = [{ reasoning: thought, toolCalls: [call("call_1", "one")] }, { text: "Done." }];
      const played = await play(script, toolPrompt);
      const body = JSON.stringify(expectSent(played.requests[1]).body);
      const first = answered(played).messages.find(({ role }) => role === "assistant");
      // Reasoning is the longest text in it, sealed or not; a wire without reasoning has none to replay.
      const kept = first?.role === "assistant" ? longestTextIn(first.providerItems) : "";
      expect(body).toContain(JSON.stringify(kept).slice(1, -1));
      expect(answered(played).output).toBe("Done.");
    },
  },
  {
    title: "TOOL-5 results of calls that work and that fail are sent in the order of the calls",
    async run({ play }) {
      const toolCalls = [call("call_a", "good"), call("call_b", "bad"), { id: "call_c", name: "count" }];
      const { requests } = await play([{ toolCalls }, { text: "Done." }], toolPrompt);
      const results = turnsOf(expectSent(requests[1])).filter(({ role }) => role === "tool");
      expect(results.map(({ calls }) => calls[0])).toEqual(["call_a", "call_b", "call_c"]);
      expect(results[0]?.text).toBe("noted good");
      expect(results[1]?.text).toContain("This note is not kept.");
      expect(results[2]?.text).toBe("1 notes");
    },
  },
  {
    title: "TOOL-9 a forced tool and required go back to auto after the first turn with calls",
    async run({ play }) {
      for (const toolChoice of [{ tool: "note" }, "required"] as const satisfies readonly ToolChoice[]) {
        const { requests } = await play([{ toolCalls: [call("call_1", "x")] }, { text: "Done." }], toolPrompt, {
          toolChoice,
        });
        const [first, second] = requests.map((request) => choiceOf(request.toolChoice));
        expect(first).toContain(typeof toolChoice === "string" ? "required" : "note");
        expect(["", "auto"]).toContain(second);
      }
    },
  },
  {
    title: "TOOL-9 none persists",
    async run({ play }) {
      const { requests } = await play([{ text: "No." }], toolPrompt, { toolChoice: "none" });
      expect(choiceOf(expectSent(requests[0]).toolChoice)).toBe("none");
    },
  },
  {
    title: "PRO-2 a prompt without tools sends no tool choice",
    async run({ play }) {
      const without = await play([{ text: "Hello." }], plain, { toolChoice: "required" });
      expect(choiceOf(expectSent(without.requests[0]).toolChoice)).toBe("");
    },
  },
  {
    title: "PRO-2 a setting that was not set is not sent",
    async run({ play }) {
      const { requests } = await play([{ text: "Hello." }], plain);
      const sent = keysIn(expectSent(requests[0]).body);
      expect(sent.filter((key) => settings.has(key.replaceAll("_", "").toLowerCase()))).toEqual([]);
    },
  },
  {
    title: "LOOP-7 text outside ASCII arrives as it is, in a request and in an answer",
    async run({ play }) {
      const text = "Grüße 👩‍👩‍👧 \u0000 {{x}} $& \u2028 日本語";
      const { requests, ...played } = await play([{ text: text }], saying(text));
      expect(turnsOf(expectSent(requests[0]))[0]?.text).toBe(text);
      expect(answered({ requests, ...played }).output).toBe(text);
    },
  },
  {
    title: "TOOL-5 half a character in a tool's result is sent as its replacement",
    async run({ play }) {
      const toolCalls = [call("call_1", "half")];
      const halved = await play([{ toolCalls }, { text: "Done." }], toolPrompt);
      expect(turnsOf(expectSent(halved.requests[1])).at(-1)?.text).toBe("noted \ufffd and no more");
    },
  },
];

/** Names of settings, without underscores. */
const settings = new Set(
  (
    "temperature topp topk maxtokens maxoutputtokens maxcompletiontokens seed stop stopsequences presencepenalty " +
    "frequencypenalty tools toolchoice paralleltoolcalls responseformat logprobs toplogprobs user metadata"
  ).split(" "),
);

/** Keys of a body and of the objects in it, the messages' aside. */
function keysIn(body: unknown): readonly string[] {
  if (!isRecord(body)) return [];
  return Object.entries(body).flatMap(([key, value]) => (value === undefined ? [] : [key, ...keysIn(value)]));
}

function choiceOf(toolChoice: unknown): string {
  if (toolChoice === undefined || toolChoice === null) return "";
  if (typeof toolChoice === "string") return toolChoice;
  const type = (toolChoice as { readonly type?: unknown }).type;
  return type === "auto" || type === "none" || type === "required" ? type : JSON.stringify(toolChoice);
}

function longestTextIn(value: unknown): string {
  if (typeof value === "string") return value;
  const texts = typeof value === "object" && value !== null ? Object.values(value).map(longestTextIn) : [];
  return texts.toSorted((one, other) => other.length - one.length)[0] ?? "";
}
