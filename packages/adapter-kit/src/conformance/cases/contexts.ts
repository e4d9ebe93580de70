import type { ContextPolicy, Message } from "@proviso/core";
import { expect } from "vitest";
import { answered, eventsOf, turnsOf, whyOf, type ConformanceCase, type Played } from "../kit.ts";
import { plain, toolPrompt } from "../prompts.ts";
import { expectSent } from "../sent.ts";

const tooLong = {
  status: 400,
  body: { error: { message: "It is too long.", type: "invalid_request_error", code: "context_length_exceeded" } },
};

/** A chat of so many exchanges, each about 600 characters. */
function chat(exchanges: number): readonly Message[] {
  return Array.from({ length: exchanges }, (_, index): readonly Message[] => [
    { role: "user", text: `Question ${index} `.padEnd(300, "q") },
    { role: "assistant", text: `Answer ${index} `.padEnd(300, "a"), toolCalls: [] },
  ]).flat();
}

const usage = { inputTokens: 600, outputTokens: 2, totalTokens: 602 };

/** A note that is so long that its result is not shown whole. */
const long = "n".repeat(3_000);
const longNote = { id: "call_1", name: "note", arguments: { text: long } };

function refuses({ error }: Played<unknown>): boolean {
  return error?.code === "provider" && error.reason === "bad_request" && error.message.includes("context");
}

/** An agent keeps its own history, and says that it refuses the option. */
const forModels = (run: (played: Played<string>) => void, played: Played<string>): void => {
  if (refuses(played)) expect(played.requests).toEqual([]);
  else run(played);
};

/** Histories that are kept inside the model's window. */
export const contextCases: readonly ConformanceCase[] = [
  {
    title: "CTX-6 CTX-13 a long chat is shortened once, and sent as it is handed on; an agent refuses the option",
    async run({ play }) {
      const context: ContextPolicy = { window: 4_000 };
      const played = await play([{ text: "Hello.", usage }], plain, { context, messages: chat(40) });
      forModels((played) => {
        const { messages } = answered(played);
        expect(eventsOf(played, "history.compacted")).toHaveLength(1);
        // Some services take user messages in a row for one, each on lines of its own.
        const sent = turnsOf(expectSent(played.requests[0])).map(({ text }) => text);
        expect(sent[0]).toMatch(/^\[\d+ earlier messages were left out here\.\](\n|$)/);
        expect(sent.join("\n")).toBe(
          messages
            .slice(0, -1)
            .map(({ text }) => text)
            .join("\n"),
        );
        expect(sent.at(-1)).toBe("Say hello.");
      }, played);
    },
  },
  {
    title:
      "CTX-8 CTX-13 a request that the service refuses as too long is sent again, shorter; an agent refuses the option",
    async run({ play }) {
      const context: ContextPolicy = { window: 100_000 };
      const played = await play([tooLong, { text: "Hello.", usage }], plain, { context, messages: chat(20) });
      forModels((played) => {
        expect(answered(played)).toMatchObject({ output: "Hello.", turns: 1 });
        expect(eventsOf(played, "history.compacted")).toMatchObject([{ why: "refused", turn: 1 }]);
        const [refused, sent] = played.requests.map((request) => turnsOf(expectSent(request)));
        expect(refused).toHaveLength(41);
        expect(sent?.length).toBeLessThan(20);
        expect(sent?.at(-1)?.text).toBe("Say hello.");
      }, played);
    },
  },
  {
    title: "CTX-8 CTX-13 without anything to shorten the service's refusal stands; an agent refuses the option",
    async run({ play }) {
      const played = await play([tooLong], plain, { context: { window: 100_000 } });
      forModels((played) => {
        expect(whyOf(played)).toBe("provider: context_length");
        expect(played.error).toMatchObject({ status: 400, phase: "request" });
        expect(played.requests).toHaveLength(1);
      }, played);
    },
  },
  {
    title:
      "CTX-12 CTX-13 with tools: a long result is shown in part, and read_result reads it; an agent refuses the option",
    async run({ play }) {
      const bytes = new TextEncoder().encode(`noted ${long}`);
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
      const ref = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
      const reading = { id: "call_2", name: "read_result", arguments: { ref, from: 2_900 } };
      const context: ContextPolicy = { window: 100_000, toolResultCharacters: 1_000 };
      const script = [{ toolCalls: [longNote] }, { toolCalls: [reading] }, { text: "Done.", usage }];
      const played = await play(script, toolPrompt, { context });
      forModels((played) => {
        expect(answered(played)).toMatchObject({ output: "Done.", turns: 3 });
        expect(eventsOf(played, "prompt.rendered")).toMatchObject([{ tools: ["note", "count", "read_result"] }]);
        const results = turnsOf(expectSent(played.requests[2])).filter(({ role }) => role === "tool");
        expect(results[0]?.text).toMatch(/^noted n+\n\n\[… 3006 characters in all, some left out here: read_result\(/);
        expect(results[1]?.text).toBe(`[Characters 2900 to 3006 of 3006]\n${"n".repeat(106)}`);
      }, played);
    },
  },
];
