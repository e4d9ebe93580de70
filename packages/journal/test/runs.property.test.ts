// Random evaluations: whatever calls, failures, waits, streams and limits they have, a replay is the same, and a run that
// ended after any entry goes on to an end that replays too.
import {
  deadlineAt,
  definePrompt,
  defineSection,
  defineTool,
  isEvaluationFailure,
  type Message,
  type StreamEvent,
  type ToolPolicy,
} from "@proviso/core";
import { createJournal, memoryJournal, type Journal, type JournalEntry } from "@proviso/journal";
import { bodyOf, frameSum, memoryStore } from "@proviso/journal/internal";
import { replay } from "@proviso/journal/testing";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import fc from "fast-check";
import { expect, inject, it } from "vitest";
import { z } from "zod";
import { heard, noted, notes } from "./runs-support.ts";
import { listed } from "./support.ts";

/** A call of a random turn. */
interface RandomCall {
  readonly tool: "write" | "look" | "evaluate" | "fail" | "unknown" | "wrong";
  readonly id: string | undefined;
}
interface RandomTurn {
  readonly throttles: number;
  readonly calls: readonly RandomCall[];
  readonly text: string;
}
interface RandomRun {
  readonly turns: readonly RandomTurn[];
  readonly isStreamed: boolean;
  readonly feedbackEvery: number;
  readonly maxTurns: number;
  readonly budget: number | undefined;
  readonly deniesWrites: boolean;
  readonly misses: number;
}

const call: fc.Arbitrary<RandomCall> = fc.record({
  tool: fc.constantFrom("write", "write", "look", "evaluate", "fail", "unknown", "wrong"),
  id: fc.constantFrom(undefined, "c1", "c2", "c3"),
});
const run: fc.Arbitrary<RandomRun> = fc.record({
  turns: fc.array(
    fc.record({
      throttles: fc.integer({ min: 0, max: 1 }),
      calls: fc.array(call, { maxLength: 4 }),
      text: fc.string(),
    }),
    { maxLength: 4 },
  ),
  isStreamed: fc.boolean(),
  feedbackEvery: fc.integer({ min: 1, max: 3 }),
  maxTurns: fc.integer({ min: 2, max: 8 }),
  budget: fc.option(fc.integer({ min: 20, max: 200 }), { nil: undefined }),
  deniesWrites: fc.boolean(),
  misses: fc.integer({ min: 0, max: 2 }),
});

function promptOf({ feedbackEvery, misses }: RandomRun, done: string[]) {
  const input = z.object({ n: z.number() });
  let missed = 0;
  const write = defineTool({
    name: "write",
    description: "Writes.",
    input,
    async execute({ n }, { session, idempotencyKey, progress }) {
      done.push(idempotencyKey);
      progress({ done: 1, message: "half" });
      session.dispatch(noted({ text: `wrote ${n}` }));
      if (n % 2 === 0) await Promise.resolve();
      return n;
    },
  });
  const look = defineTool({ name: "look", description: "Looks.", input, readOnly: true, execute: ({ n }) => n });
  const evaluate = defineTool({
    name: "evaluate",
    description: "Evaluates.",
    input,
    readOnly: true,
    async execute({ n }, context) {
      const { text } = await context.evaluate(`Look at ${n}.`);
      return text;
    },
  });
  const fail = defineTool({
    name: "fail",
    description: "Fails.",
    input,
    async execute({ n }, { session }) {
      session.dispatch(noted({ text: `never ${n}` }));
      throw new Error("It failed.");
    },
  });
  return definePrompt({
    ns: "test",
    key: "random",
    params: z.object({}),
    slices: [notes],
    sections: [defineSection({ key: "task", text: "Do something.", tools: [write, look, evaluate, fail] })],
    feedback: [{ name: "reminder", every: { calls: feedbackEvery }, provide: () => "Go on." }],
    completion: { name: "missing", check: () => (missed++ < misses ? `Part ${missed} is missing.` : undefined) },
  }).bind({});
}

/** The script as a function of the history, so that any process answers the same. */
function modelOf({ turns }: RandomRun) {
  const throttled = new Map<number, number>();
  const answer = (({ messages }: { readonly messages: readonly Message[] }): ScriptedStep => {
    const last = messages.at(-1)?.text ?? "";
    if (last.startsWith("Look at")) return { text: `Seen ${last}` };
    const asked = messages.filter(({ role }) => role === "assistant").length;
    const turn = turns[asked];
    if (turn === undefined) return { text: "Done." };
    const refused = throttled.get(asked) ?? 0;
    throttled.set(asked, refused + 1);
    if (refused < turn.throttles)
      return { failure: "throttle", kind: "rate_limit", message: "Later.", retryAfterMs: 1 };
    if (turn.calls.length === 0) return { text: `So far ${asked}.` };
    const toolCalls = turn.calls.map(({ tool, id }, n) => ({
      name: tool === "unknown" ? "nothing" : tool === "wrong" ? "write" : tool,
      arguments: tool === "wrong" ? { m: 1 } : { n },
      ...(id === undefined ? {} : { id }),
    }));
    return { text: turn.text, toolCalls };
  }) as never;
  return scriptedModel(Array.from({ length: 60 }, () => answer));
}

function policiesOf({ deniesWrites }: RandomRun): readonly ToolPolicy[] {
  const check: ToolPolicy["check"] = ({ input }) =>
    JSON.stringify(input).includes("1") ? { allowed: false, reason: "Not one." } : { allowed: true };
  return deniesWrites ? [{ name: "no", check }] : [];
}

async function evaluated(random: RandomRun, journal: Journal, seed: number, takeOver = false) {
  const done: string[] = [];
  const session = takeOver ? undefined : createSession({ id: "s1" });
  const events = session === undefined ? [] : heard(session);
  const { random: chance, newId } = fakeEnvironment(seed);
  let now = 1_000 * seed;
  const clock = { now: () => (now += 1), sleep: async (ms: number) => void (now += ms) };
  const adapter = modelAdapter(modelOf(random), { clock, random: chance, newId });
  const policies = policiesOf(random);
  const options = {
    ...(session === undefined ? {} : { session }),
    run: journal.run("r", { takeOver }),
    maxTurns: random.maxTurns,
    policies,
    ...(random.budget === undefined || takeOver ? {} : { budget: { maxTotalTokens: random.budget } }),
  };
  const streamed: StreamEvent[] = [];
  const evaluating = async () => {
    if (!random.isStreamed) return adapter.evaluate(promptOf(random, done), options);
    const stream = adapter.stream(promptOf(random, done), options);
    for await (const event of stream) streamed.push(event);
    return stream.response;
  };
  const outcome = await evaluating().catch((error: unknown) => error as Error);
  return { session, events, outcome, done, streamed };
}

it("RPL-1 RPL-3 RPL-7 RSM-2 whatever happens, a replay is the same, with its handlers too, and a run that ended anywhere goes on", async () => {
  await fc.assert(
    fc.asyncProperty(run, fc.integer({ min: 1, max: 1_000 }), async (random, seed) => {
      const journal = memoryJournal();
      const first = await evaluated(random, journal, 1);
      if (first.outcome instanceof Error && !isEvaluationFailure(first.outcome)) throw first.outcome;
      const replayed = await replay(promptOf(random, []), journal.replay("r"));
      expect(replayed.events.map((event) => JSON.stringify(event))).toEqual(
        first.events
          .filter(({ type }) => !type.endsWith(".delta") && type !== "text.reset")
          .map((event) => JSON.stringify(event)),
      );
      expect(JSON.stringify(replayed.session)).toBe(JSON.stringify(first.session));
      if (first.outcome instanceof Error) {
        expect([replayed.failure?.message, (replayed.failure as { code?: string })?.code]).toEqual([
          first.outcome.message,
          (first.outcome as { code?: string }).code,
        ]);
      } else expect(replayed.response?.text).toBe(first.outcome.text);

      const ran: string[] = [];
      const again = await replay(promptOf(random, ran), journal.replay("r", { tools: "run" }), {
        policies: policiesOf(random),
      });
      expect(again.events).toEqual(replayed.events);
      expect(JSON.stringify(again.session)).toBe(JSON.stringify(first.session));
      expect(again.failure?.message).toBe(replayed.failure?.message);
      expect(ran).toEqual(first.done);

      const entries = await listed(journal.entries("r"));
      const cut = 1 + (seed % entries.length);
      const store = await cutStore(entries, cut);
      const resumed = await evaluated(random, createJournal(store), seed + 1, true);
      if (resumed.outcome instanceof Error && (resumed.outcome as { code?: string }).code === "run")
        throw resumed.outcome;
      // No call that was recorded is done again.
      const kept = entries
        .slice(0, cut)
        .flatMap((entry) => (entry.kind === "committed" ? entry.callIds.map((id) => ({ id, entry })) : []));
      const keys = new Map(
        entries.flatMap((entry) =>
          entry.kind === "started" ? [[`${entry.turn} ${entry.callId}`, entry.idempotencyKey] as const] : [],
        ),
      );
      for (const { id, entry } of kept) expect(resumed.done).not.toContain(keys.get(`${entry.turn} ${id}`));
      for (const tools of ["recorded", "run"] as const) {
        const policies = policiesOf(random);
        const last = await replay(promptOf(random, []), createJournal(store).replay("r", { tools }), { policies });
        if (resumed.outcome instanceof Error) expect(last.failure?.message).toBe(resumed.outcome.message);
        else expect(last.response?.text).toBe(resumed.outcome.text);
      }
    }),
    {
      numRuns: Number(process.env["RUNS"] ?? (inject("exhaustive") ? 150 : 40)),
      seed: Number(process.env["SEED"] ?? 7),
    },
  );
});

async function cutStore(entries: readonly JournalEntry[], cut: number) {
  const store = memoryStore();
  const body = bodyOf(1, entries.slice(0, cut));
  const of = { run: "r", first: 0, body };
  await store.append([{ ...of, count: cut, writer: "gone", sum: frameSum(of), summary: "{}" }]);
  return store;
}
void deadlineAt;
