import { parseMessages, type Message } from "@proviso/core";
import { expect } from "vitest";
import { answered, systemOf, turnsOf, whyOf, type ConformanceCase, type Played, type SentTurn } from "../kit.ts";
import { plain, toolPrompt, totalPrompt } from "../prompts.ts";
import { expectSent } from "../sent.ts";

const one = { id: "call_1", name: "note", arguments: { text: "one" } };
const two = { id: "call_2", name: "note", arguments: { text: "two" } };
const usage = { inputTokens: 40, outputTokens: 2, totalTokens: 42 };

/** What the first request of this evaluation carried: the system text of the prompt, and no question but the first. */
function expectContinued(continued: Played<unknown>, before: Played<unknown>, question: string): void {
  const [first] = continued.requests;
  const sent = turnsOf(expectSent(first));
  expect(sent.filter(({ role, text }) => role === "user" && text === question)).toHaveLength(1);
  expect(sent[0]).toMatchObject({ role: "user", text: question });
  expect(systemOf(expectSent(first))).toBe(systemOf(expectSent(before.requests[0])));
}

/** The ids that the assistant's calls have; an agent's are the runtime's own. */
function idsOf(messages: readonly Message[] = []): readonly string[] {
  return messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls.map(({ id }) => id) : []));
}

/** The ids that were answered. */
function answersOf(turns: readonly SentTurn[]): readonly string[] {
  return turns.flatMap(({ role, calls }) => (role === "tool" ? calls : []));
}

/** An evaluation goes on where another one stopped. */
export const continuingCases: readonly ConformanceCase[] = [
  {
    title:
      "LOOP-9 with tools: what was refused after one goes on with what it answered, and the question is not asked again",
    async run({ play }) {
      const failed = await play([{ toolCalls: [one] }, { status: 400 }], toolPrompt);
      expect(whyOf(failed)).toBe("provider: bad_request");
      const played = await play([{ text: "Done.", usage }], toolPrompt, { continueFrom: failed.error });
      expect(answered(played)).toMatchObject({ output: "Done.", turns: 1, toolResults: [], usage });
      expectContinued(played, failed, "Begin.");
      const turns = turnsOf(expectSent(played.requests[0]));
      expect(turns.map(({ role, text }) => [role, text])).toEqual([
        ["user", "Begin."],
        ["assistant", ""],
        ["tool", "noted one"],
      ]);
      expect(answersOf(turns)).toEqual(idsOf(failed.error?.messages));
    },
  },
  {
    title: "LOOP-9 with tools: an abort in the middle of calls leaves a history that is gone on with",
    async run({ play }) {
      const controller = new AbortController();
      const session = (await play([{ text: "Hello." }], plain)).session;
      session.on("tool.invoked", () => controller.abort("enough"));
      const failed = await play([{ toolCalls: [one, two] }], toolPrompt, { session, signal: controller.signal });
      expect(whyOf(failed)).toBe("aborted");
      const played = await play([{ text: "Done." }], toolPrompt, { continueFrom: failed.error });
      expect(answered(played).output).toBe("Done.");
      expectContinued(played, failed, "Begin.");
      // An agent asks for one call after the other: the second it never makes.
      const ids = idsOf(failed.error?.messages);
      expect(ids.length).toBeGreaterThan(0);
      expect(answersOf(turnsOf(expectSent(played.requests[0])))).toEqual(ids);
    },
  },
  {
    title: "LOOP-9 with tools: stored messages with an unanswered call are completed",
    async run({ play }) {
      const before = await play([{ toolCalls: [one] }, { text: "Done." }], toolPrompt);
      const cut: readonly Message[] = JSON.parse(JSON.stringify(answered(before).messages.slice(0, 2)));
      const played = await play([{ text: "Again." }], toolPrompt, { continueFrom: cut });
      expect(answered(played).output).toBe("Again.");
      expectContinued(played, before, "Begin.");
      expect(answersOf(turnsOf(expectSent(played.requests[0])))).toEqual(idsOf(cut));
      expect(parseMessages(answered(played).messages)).toHaveLength(4);
    },
  },
  {
    title: "LOOP-9 after an answer that does not fit, the model is shown why",
    async run({ play }) {
      const failed = await play([{ text: "many" }], totalPrompt);
      expect(whyOf(failed)).toBe("output");
      const played = await play([{ output: { total: 3 } }], totalPrompt, { continueFrom: failed.error });
      expect(answered(played).output).toEqual({ total: 3 });
      const turns = turnsOf(expectSent(played.requests[0]));
      expect(turns.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
      expect(turns[2]?.text).toContain("does not fit the output");
    },
  },
  {
    title: "LOOP-9 after a response the model is asked to go on",
    async run({ play }) {
      const before = await play([{ text: "Once" }], plain);
      const played = await play([{ text: "upon a time." }], plain, { continueFrom: answered(before) });
      expectContinued(played, before, "Say hello.");
      expect(turnsOf(expectSent(played.requests[0])).map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
      expect(answered(played).messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    },
  },
];
