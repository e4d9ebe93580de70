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
