// Runs whose answers are cut off while they are streamed: they replay as they ended, and what the answers cost counts on.
import {
  deadlineIn,
  definePrompt,
  defineTool,
  trackBudget,
  type EvaluateOptions,
  type ModelProvider,
} from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { agentAdapter, createSession, modelAdapter, type AgentDriver } from "@proviso/runtime";
import { fallback, hedged } from "@proviso/runtime/routing";
import { fakeEnvironment, recordEvents } from "@proviso/runtime/testing";
import { describe, expect, inject, it } from "vitest";
import { z } from "zod";

const words = ["One ", "two ", "three ", "four "];
type Way = "abort" | "deadline" | "leaving";
type Kind = "model" | "agent" | "inside" | "fallback" | "hedged";

/** What cuts answers: `at` counts the deltas of an attempt; 0: it is not cut. */
interface Cutting {
  at: number;
  cut(): void;
}

/** Says a word after the other, and nothing more once it is cut. */
async function say(cutting: Cutting, onDelta: ((delta: { kind: "text"; text: string }) => void) | undefined) {
  for (const text of words) {
    onDelta?.({ kind: "text", text });
    if (--cutting.at !== 0) continue;
    cutting.cut();
    await new Promise(() => {});
  }
}

const spoken = (calls: readonly string[]) => ({
  message: {
    role: "assistant" as const,
    text: words.join(""),
    toolCalls: calls.map((name) => ({ id: "c", name, arguments: "{}" })),
  },
  finishReason: calls.length > 0 ? ("tool-calls" as const) : ("stop" as const),
});

/** A model that looks once, then answers; it says as much in both turns, and reports no usage. */
const modelOf = (cutting: Cutting, name = "model"): ModelProvider => ({
  name,
  model: `${name}-1`,
  capabilities: { tools: true, nativeOutput: true },
  async generate({ messages, onDelta }) {
    await say(cutting, onDelta);
    return spoken(messages.some(({ role }) => role === "tool") ? [] : ["look"]);
  },
});

const agentOf = (cutting: Cutting): AgentDriver => ({
  name: "agent",
  model: "agent-1",
  async drive({ executeToolCall, onDelta, rendered }) {
    await say(cutting, onDelta);
    if (rendered.tools.length > 0) await executeToolCall({ id: "c", name: "look", arguments: "{}" });
    await say(cutting, onDelta);
    return spoken([]);
  },
});

/** A model that is refused, for a price. */
const refusing: ModelProvider = {
  name: "refusing",
  model: "refusing-1",
  capabilities: { tools: true, nativeOutput: true },
  async generate() {
    return { failure: "throttle", kind: "server_error", message: "No.", usage: { inputTokens: 30, outputTokens: 3 } };
  },
};

function stage(kind: Kind, own: object) {
  const cutting: Cutting = { at: 0, cut: () => {} };
  const { clock, random, newId } = fakeEnvironment();
  // What hedges waits on the clock by itself.
  const environment = kind === "hedged" ? { random, newId, ...own } : { clock, random, newId, ...own };
  const priced = { ...environment, pricing: { input: 1, output: 2 } };
  const inner = agentAdapter(agentOf(cutting), priced);
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    readOnly: true,
    async execute(_, { evaluate }) {
      return kind === "inside" ? (await evaluate("Look inside.", { adapter: inner })).text : "seen";
    },
  });
  const prompt = definePrompt({ key: "look", sections: [{ key: "task", text: "Look.", tools: [look] }] }).bind();
  const model = modelAdapter(modelOf(kind === "inside" ? { at: 0, cut: () => {} } : cutting), priced);
  const refused = modelAdapter(refusing, { ...priced, throttle: { maxAttempts: 1 } });
  const slow = modelAdapter(
    { ...modelOf({ at: 0, cut: () => {} }, "slow"), generate: () => new Promise(() => {}) },
    priced,
  );
  const adapters = {
    model: () => model,
    inside: () => model,
    agent: () => agentAdapter(agentOf(cutting), priced),
    fallback: () => fallback([refused, model], environment),
    hedged: () => hedged([slow, model], { afterMs: 0 }),
  };
  return { cutting, prompt, adapter: adapters[kind](), clock };
}

/** Streams one attempt, which is cut after so many deltas. */
async function attempt(
  { cutting, prompt, adapter, clock }: ReturnType<typeof stage>,
  run: ReturnType<Journal["run"]>,
  { at, way = "abort", ...options }: EvaluateOptions & { readonly at: number; readonly way?: Way },
) {
  const controller = new AbortController();
  let isLeft = false;
  cutting.at = at;
  cutting.cut = () => {
    if (way === "abort") controller.abort();
    if (way === "deadline") void clock.advance(1_000);
    isLeft = way === "leaving";
  };
  const session = createSession({ id: "s" });
  const events = recordEvents(session);
  const within = way === "deadline" ? { deadline: deadlineIn(1_000, clock) } : {};
  const stream = adapter.stream(prompt, { ...options, ...within, run, session, signal: controller.signal });
  const came = stream.response.then(
    ({ usage, text }) => ({ usage, text, code: undefined, message: undefined }),
    ({ usage, code, message }) => ({ usage, code, message, text: undefined }),
  );
  try {
    for await (const _ of stream) if (isLeft) break;
  } catch {
    // The response says why.
  }
  return { came: await came, events: events.map((event) => JSON.stringify(event)) };
}

const total = (usage: { readonly totalTokens: number } | undefined): number | undefined => usage?.totalTokens;
const kinds: readonly Kind[] = ["model", "agent", "inside", "fallback", "hedged"];
const ways = ["abort", "deadline", "leaving"] as const;
const all = Array.from({ length: 2 * words.length }, (_, place) => place + 1);
/** Of each answer the first delta, one in the middle and the last. */
const slice = [1, 1 + Math.floor(words.length / 2), words.length, words.length + 1, 2 * words.length];
const deltas = inject("exhaustive") ? all : slice;
const environments: readonly (readonly [string, object])[] = [
  ["nothing is hidden", {}],
  ["texts are hidden", { secrets: ["two"] }],
];

describe.each(environments)("where %s", (_, own) => {
  const cases = kinds.flatMap((kind) =>
    ways
      .filter((way) => way === "abort" || (kind !== "hedged" && (kind !== "inside" || way === "deadline")))
      .map((way) => [kind, way] as const),
  );

  it.each(cases)("RPL-1 RPL-7 %s cut by %s after each delta replays as it ended", async (kind, way) => {
    for (const at of deltas) {
      const journal = memoryJournal();
      const played = stage(kind, own);
      const live = await attempt(played, journal.run("r"), { at, way });
      expect(live.came.code, `after ${at} deltas`).toBe(way === "deadline" ? "deadline" : "aborted");
      expect(total(live.came.usage)).toBeGreaterThan(kind === "inside" || kind === "hedged" ? -1 : 0);
      for (const tools of ["recorded", "run"] as const) {
        const { failure } = await replay(played.prompt, journal.replay("r", { tools }));
        const { code, message, usage } = failure as unknown as typeof live.came;
        expect({ code, message, usage, text: undefined }, `after ${at} deltas, ${tools}`).toEqual(live.came);
      }
      expect(await attempt(played, journal.replay("r"), { at: 0 }), `streamed, after ${at} deltas`).toEqual(live);
    }
  });

  // What an answer that stands reports is not asked again: its estimate is made anew of what the record shows of it.
  const counted = cases.filter(([kind]) => kind !== "inside" || !("secrets" in own));
  it.each(counted)(
    "RSM-6 VIEW-13 what the requests of %s cost counts when it goes on, once, cut by %s",
    async (kind, way) => {
      for (const at of deltas) {
        const journal = memoryJournal();
        const played = stage(kind, own);
        const tracker = trackBudget({ maxTotalTokens: 100_000 });
        const options = { way, budget: tracker };
        for (const first of [at, 1, 1 + (at % words.length)]) {
          await attempt(played, journal.run("r"), { ...options, at: first });
          expect(total((await journal.describe("r"))?.usage), `cut after ${at}`).toBe(tracker.consumed.totalTokens);
        }
        const before = tracker.consumed.totalTokens;
        // A budget of its own has no room but for what was spent already.
        if (before > 0) {
          const refused = await attempt(played, journal.run("r"), { at: 0, budget: { maxTotalTokens: before } });
          expect(refused.came.code, `refused after ${at}`).toBe("budget");
        }
        expect(tracker.consumed.totalTokens).toBe(before);
        const { came } = await attempt(played, journal.run("r"), { ...options, at: 0 });
        expect(came.code).toBe(undefined);
        const spent = tracker.consumed.totalTokens;
        expect(spent).toBeGreaterThan(before);
        const described = await journal.describe("r");
        expect([total(described?.usage), described?.usage.costUsd?.toFixed(9)]).toEqual([
          spent,
          tracker.consumed.costUsd?.toFixed(9),
        ]);
        if (kind !== "inside") expect(total(came.usage)).toBe(spent);
        const { response } = await replay(played.prompt, journal.replay("r"));
        expect(response?.usage).toEqual(came.usage);
        const again = await attempt(played, journal.run("r"), { ...options, at: 0 });
        expect(again.came.usage).toEqual(came.usage);
        expect(tracker.consumed.totalTokens).toBe(spent);
      }
    },
  );
});
