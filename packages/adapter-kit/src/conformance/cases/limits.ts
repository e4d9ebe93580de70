import { AbortedError, deadlineIn, systemClock, trackBudget, type EvaluateOptions, type Message } from "@proviso/core";
import { expect } from "vitest";
import { createSession } from "@proviso/runtime";
import { watchedSignal } from "../watched-signal.ts";
import { answered, ask, settlesWithin, whyOf, type Bench, type ConformanceCase } from "../kit.ts";
import { plain, toolPrompt } from "../prompts.ts";

const call = { id: "call_1", name: "note", arguments: { text: "one" } };

/** An evaluation that would wait for ever, settled by what the options say: they are made once the service is there. */
async function hung({ open, way }: Bench, options: () => EvaluateOptions, withinMs: number): Promise<unknown> {
  return open([{ text: "Hello.", fault: "hang" }], async ({ adapter, requests }) => {
    const asked = ask(adapter, plain, options(), way).then(
      () => "answered",
      (error: unknown) => error,
    );
    expect(await settlesWithin(withinMs, asked), "LIM-2 it settles in time").toBe(true);
    const ended = await asked;
    // The limit may end the evaluation before a request is sent on a busy machine.
    expect(requests().length).toBeLessThanOrEqual(1);
    return ended;
  });
}

/** Deadlines, aborts, and what is left behind. */
export const limitCases: readonly ConformanceCase[] = [
  {
    title: "LIM-2 a service that never answers is left at the deadline",
    async run(bench) {
      const ended = await hung(bench, () => ({ deadline: deadlineIn(150) }), 250);
      expect(ended).toMatchObject({ code: "deadline", phase: "request" });
    },
  },
  {
    title: "LIM-2 a service that never answers is left at an abort, whose reason is the cause",
    async run(bench) {
      const abortedSoon = () => {
        const controller = new AbortController();
        void systemClock.sleep(100).then(() => controller.abort("enough"));
        return { signal: controller.signal };
      };
      const ended = await hung(bench, abortedSoon, 250);
      expect(ended).toBeInstanceOf(AbortedError);
      expect(ended).toMatchObject({ code: "aborted", cause: "enough" });
    },
  },
  {
    title: "LIM-1 LIM-2 with a deadline that is past, or a signal that fired, nothing is sent",
    async run({ play }) {
      const past = await play([{ text: "Hello." }], plain, { deadline: deadlineIn(-1) });
      expect(whyOf(past)).toBe("deadline");
      const fired = await play([{ text: "Hello." }], plain, { signal: AbortSignal.abort() });
      expect(whyOf(fired)).toBe("aborted");
      expect([...past.requests, ...fired.requests]).toEqual([]);
    },
  },
  {
    title: "LIM-3 SEC-3 no listener is left on the caller's signal after an answer, a refusal, a broken connection",
    async run({ play }) {
      const broken = { text: "Hello.", fault: "reset_in_body" } as const;
      for (const script of [[{ text: "Hello." }], [{ status: 400 }], [broken]]) {
        const { signal, listeners } = watchedSignal(new AbortController().signal);
        await play(script, plain, { signal, deadline: deadlineIn(60_000) });
        expect(listeners()).toBe(0);
      }
    },
  },
  {
    title: "LIM-3 SEC-3 no listener is left after a tool's turn",
    async run({ play }) {
      const { signal, listeners } = watchedSignal(new AbortController().signal);
      await play([{ toolCalls: [call] }, { text: "Done." }], toolPrompt, { signal, deadline: deadlineIn(60_000) });
      expect(listeners()).toBe(0);
    },
  },
  {
    title: "LIM-4 a budget that is spent ends the evaluation before the next tool and request",
    async run({ play }) {
      const usage = { inputTokens: 1_990, outputTokens: 20, totalTokens: 2_010 };
      const played = await play([{ toolCalls: [call], usage }, { text: "Done." }], toolPrompt, {
        budget: { maxTotalTokens: 2_000 },
      });
      expect(whyOf(played)).toBe("budget");
      expect(played.requests).toHaveLength(1);
      expect(played.error?.usage.totalTokens).toBe(2_010);
    },
  },
  {
    title: "LIM-10 an answer that the budget cuts short is a BudgetExceededError with the text so far",
    async run({ play }) {
      const text = "All of it is more than what is left. ".repeat(200);
      const played = await play([{ text }], plain, { budget: { maxOutputTokens: 40 } });
      expect(whyOf(played)).toBe("budget");
      const { error } = played;
      expect(error).toMatchObject({ dimension: "output_tokens", limit: 40, phase: "response" });
      const soFar = error?.code === "budget" ? (error.text ?? "") : "";
      expect(soFar.length).toBeGreaterThan(0);
      expect(text.startsWith(soFar) && soFar.length < text.length, `"${soFar}" is the beginning`).toBe(true);
      expect(error?.usage.outputTokens).toBeLessThanOrEqual(50);
      expect(played.requests).toHaveLength(1);
    },
  },
  {
    title: "LIM-5 what fits one after another is not refused side by side",
    async run({ open, way }) {
      const usage = { inputTokens: 20, outputTokens: 5, totalTokens: 25 };
      const script = Array.from({ length: 5 }, () => ({ text: "Hello.", usage }));
      await open(script, async ({ adapter }) => {
        const budget = trackBudget({ maxTotalTokens: 400 });
        await Promise.all(script.map(() => ask(adapter, plain, { budget }, way)));
        expect(budget.consumed.totalTokens).toBe(125);
        expect(budget.remaining().totalTokens).toBe(275);
      });
    },
  },
  {
    title: "LOOP-3 what failed on its second turn can be gone on with",
    async run({ play }) {
      const failed = await play([{ toolCalls: [call] }, { status: 400 }], toolPrompt);
      expect(whyOf(failed)).toBe("provider: bad_request");
      const messages = failed.error?.messages ?? [];
      const kept = structuredClone(messages);
      const played = await play([{ text: "Gladly." }], plain, { messages });
      expect(answered(played).output).toBe("Gladly.");
      expect(messages).toEqual(kept);
    },
  },
  {
    title: "SES-1 frozen options are taken, and nothing of the caller's is changed",
    async run({ play }) {
      const history: readonly Message[] = [
        { role: "user", text: "Before." },
        { role: "assistant", text: "Yes.", toolCalls: [] },
      ];
      const messages = deepFrozen(history);
      const options = Object.freeze({ messages, session: createSession(), maxTurns: 3 });
      const played = await play([{ text: "Done." }], plain, options);
      expect(answered(played).messages.slice(0, 2)).toEqual(history);
    },
  },
];

function deepFrozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) for (const item of Object.values(value)) deepFrozen(item);
  return Object.freeze(value);
}
