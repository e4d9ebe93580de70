// Random agents: whatever they say and call, a replay is the same, and a run that ended after any entry goes on or names
// what stays.
import { definePrompt, defineTool, isEvaluationFailure } from "@proviso/core";
import { createJournal, memoryJournal, type Journal, type JournalEntry } from "@proviso/journal";
import { bodyOf, frameSum, memoryStore } from "@proviso/journal/internal";
import { agentAdapter, createSession, modelAdapter, type AgentDriver } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import fc from "fast-check";
import { expect, inject, it } from "vitest";
import { z } from "zod";
import { heard, noted, notes } from "./runs-support.ts";
import { listed } from "./support.ts";

type Action =
  | { readonly says: string; readonly of: "text" | "reasoning" }
  | {
      readonly calls: "write" | "look" | "save" | "move" | "fail" | "inside" | "unknown";
      readonly id: string;
      readonly n: number;
    };
interface RandomAgent {
  /** What it does in each turn; it is asked again while its answer does not fit. */
  readonly turns: readonly (readonly Action[])[];
  readonly fails: boolean;
  readonly hasUsage: boolean;
  readonly isStreamed: boolean;
  readonly isFirst: boolean;
}

const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ says: fc.string({ maxLength: 8 }), of: fc.constantFrom("text" as const, "reasoning" as const) }),
  fc.record({
    calls: fc.constantFrom("write", "look", "save", "move", "fail", "inside", "unknown" as const),
    id: fc.constantFrom("", "c1", "c2"),
    n: fc.integer({ min: 0, max: 1 }),
  }),
);
const agent: fc.Arbitrary<RandomAgent> = fc.record({
  turns: fc.array(fc.array(action, { maxLength: 5 }), { minLength: 1, maxLength: 3 }),
  fails: fc.boolean(),
  hasUsage: fc.boolean(),
  isStreamed: fc.boolean(),
  isFirst: fc.boolean(),
});

function promptOf() {
  const tool = (name: string, more: object) =>
    defineTool({
      name,
      description: `Does ${name}.`,
      input: z.object({ n: z.number() }),
      ...more,
      async execute({ n }, { session, evaluate }) {
        if (name !== "look" && name !== "inside") session.dispatch(noted({ text: `${name} ${n}` }));
        if (name === "fail") throw new Error("It failed.");
        if (name !== "inside") return n;
        const model = modelAdapter(scriptedModel([{ text: "Inside." }]));
        return (await evaluate(`Look at ${n}.`, { adapter: model })).text;
      },
    });
  const tools = [
    tool("write", {}),
    tool("look", { readOnly: true }),
    tool("save", { idempotent: true }),
    tool("move", { transactional: true }),
    tool("fail", {}),
    tool("inside", { idempotent: true }),
  ];
  return definePrompt({
    ns: "test",
    key: "random-agent",
    slices: [notes],
    output: z.object({ ok: z.boolean() }),
    sections: [{ key: "task", text: "Work.", tools }],
  }).bind();
}

/** An agent that acts by the number of answers in its history, so that any process does the same. */
function driverOf({ turns, fails, hasUsage }: RandomAgent): AgentDriver {
  return {
    name: "agent",
    model: "agent-1",
    async drive({ messages, executeToolCall, onDelta }) {
      const turn = messages.filter(({ role, text }) => role === "user" && !text.startsWith("Work")).length;
      let text = "";
      for (const act of turns[turn] ?? []) {
        if ("says" in act) {
          onDelta({ kind: act.of, text: act.says });
          if (act.of === "text") text += act.says;
        } else await executeToolCall({ id: act.id, name: act.calls, arguments: JSON.stringify({ n: act.n }) });
      }
      const isLast = turn >= turns.length - 1;
      if (isLast && fails) return { failure: "provider", reason: "server_error" as never, message: "It broke." };
      const answer = isLast ? '{"ok":true}' : `${text} no`;
      const usage = hasUsage ? { inputTokens: 10, outputTokens: 5 } : undefined;
      return { message: { role: "assistant", text: answer, toolCalls: [] }, finishReason: "stop", usage };
    },
  };
}

function adapterOf(random: RandomAgent) {
  const own = agentAdapter(driverOf(random), { ...fakeEnvironment(), pricing: { input: 1, output: 2 } });
  if (!random.isFirst) return own;
  const second = modelAdapter(scriptedModel([{ text: '{"ok":false}' }]));
  return fallback([own, second], { on: ["bad_request", "output", "invalid_response"] });
}

async function evaluated(random: RandomAgent, run: ReturnType<Journal["run"]>) {
  const session = createSession({ id: "s" });
  const events = heard(session);
  const options = { run, session, maxRepairs: 2 };
  const adapter = adapterOf(random);
  const stream = random.isStreamed ? adapter.stream(promptOf(), options) : undefined;
  const told: string[] = [];
  const outcome = await (async () => {
    try {
      if (stream !== undefined) for await (const event of stream) told.push(JSON.stringify(event));
      const response = await (stream?.response ?? adapter.evaluate(promptOf(), options));
      return { output: response.output, usage: response.usage, text: response.text };
    } catch (error) {
      if (!isEvaluationFailure(error)) throw error;
      return {
        code: error.code,
        message: error.message,
        usage: error.usage,
        reason: "reason" in error && error.reason,
      };
    }
  })();
  return { outcome, events: events.map((event) => JSON.stringify(event)), told, state: session.get(notes) };
}

async function cutOff(entries: readonly JournalEntry[], count: number): Promise<Journal> {
  const store = memoryStore();
  const of = { run: "r", first: 0, body: bodyOf(1, entries.slice(0, count)) };
  await store.append([{ ...of, count, writer: "gone", sum: frameSum(of), summary: "{}" }]);
  return createJournal(store);
}

it("RPL-1 RSM-10 whatever an agent does, its run replays byte for byte, and goes on from any entry or names what stays", async () => {
  await fc.assert(
    fc.asyncProperty(agent, fc.double({ min: 0, max: 1, noNaN: true }), async (random, part) => {
      const journal = memoryJournal();
      const live = await evaluated(random, journal.run("r"));
      const again = await evaluated(random, journal.replay("r"));
      expect(again).toEqual(live);
      const entries = await listed(journal.entries("r"));
      const count = 1 + Math.floor(part * (entries.length - 2));
      const cut = await cutOff(entries, count);
      const later = await evaluated({ ...random, isStreamed: false }, cut.run("r", { takeOver: true }));
      if ("reason" in later.outcome && later.outcome.reason === "agent") {
        const isLost = entries.slice(0, count).findLast(({ kind }) => kind === "asked" || kind === "answered");
        expect(isLost?.kind === "asked" || (isLost?.kind === "answered" && isLost.answer.failure !== undefined)).toBe(
          true,
        );
        return;
      }
      // What was spent in a lost turn is spent again, and not counted.
      const { usage: _usage, ...outcome } = later.outcome;
      const { usage: _live, ...expected } = live.outcome;
      expect(outcome).toEqual(expected);
      expect(later.state).toEqual(live.state);
      const replayed = await evaluated({ ...random, isStreamed: false }, cut.replay("r"));
      expect(replayed.outcome).toEqual(later.outcome);
      expect(replayed.state).toEqual(later.state);
    }),
    { numRuns: Number(process.env["RUNS"] ?? (inject("exhaustive") ? 150 : 40)) },
  );
});
