import { definePrompt, defineTool, type Pace } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { heard } from "./runs-support.ts";

const note = defineTool({
  name: "note",
  description: "Takes a note.",
  input: z.object({ text: z.string() }),
  readOnly: true,
  execute: ({ text }) => text.length,
});
const prompt = definePrompt({ key: "noting", sections: [{ key: "task", text: "Note it.", tools: [note] }] }).bind();
const call = { toolCalls: [{ name: "note", arguments: { text: "it" } }] };
const busy = { failure: "throttle", kind: "rate_limit", message: "Later.", retryAfterMs: 1 } as const;

/** A pace that holds the requests back by these milliseconds, one after the other. */
function holding(...waits: readonly number[]): Pace {
  const left = [...waits];
  return {
    enter: async () => ({ ok: true, turn: { queuedMs: left.shift() ?? 0, end: () => {}, giveBack: () => {} } }),
    state: () => ({ queued: 0, inFlight: 0, requestsPerMinute: undefined, tokensPerMinute: undefined, share: 1 }),
  };
}

test("RPL-1 a run whose requests waited for their turn replays with the same events", async () => {
  const journal = memoryJournal();
  const session = createSession({ id: "s1" });
  const events = heard(session);
  const adapter = modelAdapter(scriptedModel([call, busy, { text: "Noted." }]), { throttle: { baseDelayMs: 1 } });
  await adapter.evaluate(prompt, { session, run: journal.run("r1"), pacing: holding(80, 20, 7) });
  expect(events.filter(({ type }) => type === "provider.responded")).toMatchObject([
    { queuedMs: 80 },
    { queuedMs: 27 },
  ]);
  const replayed = await replay(prompt, journal.replay("r1"));
  expect(replayed.events).toEqual(events);
});

test("RPL-1 a run whose requests were refused replays by the policy of then, also where it gave up early", async () => {
  const journal = memoryJournal();
  const session = createSession({ id: "s1" });
  const events = heard(session);
  const throttle = { baseDelayMs: 1, maxAttempts: 8 };
  const adapter = modelAdapter(scriptedModel([busy, busy, busy, busy, busy, busy, { text: "Noted." }]), { throttle });
  await adapter.evaluate(prompt, { session, run: journal.run("r1") });
  expect((await replay(prompt, journal.replay("r1"))).events).toEqual(events);
  const hasty = modelAdapter(scriptedModel([busy, busy]), { throttle: { maxAttempts: 2, baseDelayMs: 1 } });
  const failed = await hasty.evaluate(prompt, { run: journal.run("r2") }).catch((error: Error) => error.message);
  expect((await replay(prompt, journal.replay("r2"))).failure?.message).toBe(failed);
});

test("RSM-2 RPL-1 a run whose requests waited for their turn goes on, and replays after it", async () => {
  const journal = memoryJournal();
  const model = scriptedModel([call, { ...busy, retry: false }, { text: "Noted." }]);
  const adapter = modelAdapter(model, { throttle: { maxAttempts: 1 } });
  const evaluate = (pace: Pace) => adapter.evaluate(prompt, { run: journal.run("r1"), pacing: pace });
  await expect(evaluate(holding(80, 20))).rejects.toMatchObject({ code: "throttled" });
  expect(await evaluate(holding(9))).toMatchObject({ text: "Noted.", run: { keptSteps: 2 } });
  expect((await replay(prompt, journal.replay("r1"))).response?.text).toBe("Noted.");
});

/** A pace that lets this many requests go, and then does with the next one what is given. */
function lettingGo(count: number, then: Pace["enter"]): Pace {
  let left = count;
  const free = holding();
  return { ...free, enter: (...asked) => (left-- > 0 ? free.enter(...asked) : then(...asked)) };
}

test.each([0, 1, 2])(
  "RPL-1 RPL-3 a run replays whose pace refused a request, or held it back until a limit, after turns with calls: %i",
  async (turns) => {
    const journal = memoryJournal();
    const stop = new AbortController();
    const refuse: Pace["enter"] = async () => ({ ok: false, reason: "deadline", retryAfterMs: 900 });
    const abort: Pace["enter"] = async () => {
      stop.abort();
      return new Promise(() => {});
    };
    for (const [id, then] of Object.entries({ refuse, abort })) {
      const session = createSession({ id });
      const events = heard(session);
      const adapter = modelAdapter(scriptedModel([call, call]));
      const given = { session, run: journal.run(id), pacing: lettingGo(turns, then), signal: stop.signal };
      const failed: unknown = await adapter.evaluate(prompt, given).catch((error: unknown) => error);
      expect(failed).toMatchObject({ code: id === "refuse" ? "throttled" : "aborted" });
      for (const tools of ["recorded", "run"] as const) {
        const replayed = await replay(prompt, journal.replay(id, { tools }));
        expect(replayed.events).toEqual(events);
        expect(replayed.failure).toMatchObject({ message: (failed as Error).message });
      }
    }
  },
);
