import {
  deadlineIn,
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  isEvaluationFailure,
  parseMessages,
  type Clock,
  type EvaluationFailure,
  type Message,
  type PromptResponse,
  type ProviderAdapter,
} from "@proviso/core";
import { createSession } from "@proviso/runtime";
import {
  faultApplies,
  faultNames,
  startSimulator,
  type Api,
  type FaultName,
  type SimulatorStep,
} from "@proviso/simulator";
import { getEventListeners } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { fastClock } from "./clock.ts";
import { expectedOf, type Expected } from "./expectations.ts";

export { canaryIn, canarySong, describeCanary } from "./canary.ts";
export type { CanaryOptions, Watched } from "./canary.ts";
export { playScript } from "./conformance.ts";
export type { PlayedScript } from "./conformance.ts";

export interface MatrixOptions {
  /** The API that the adapter speaks. */
  readonly api: Api;
  /** An adapter for the server there; its times are the clock's: of one request, and that a stream may stand still. */
  make(connection: {
    readonly baseURL: string;
    readonly clock: Clock;
    readonly timeoutMs: number;
    readonly stallMs: number;
  }): ProviderAdapter;
  /** Where an adapter's layers rightly come to something else, with the reason in a comment. */
  readonly expected?: { readonly [name in FaultName]?: Expected } | undefined;
  /** The same, where it is so of streams alone. */
  readonly expectedOfStreams?: { readonly [name in FaultName]?: Expected } | undefined;
  /** Faults of streams that count as a break here, so that the turn is asked again, with the reason in a comment. */
  readonly breaks?: readonly FaultName[] | undefined;
  /**
   * Left out: every fault on every turn, as JSON and as SSE. Otherwise one of these cells, another one for the next
   * fault, and of the API's faults each `of`th from number `part` (from 0) on: adapters of one API share them.
   */
  readonly slice?: { readonly part: number; readonly of: number } | undefined;
}

/** Each real millisecond is so many of the evaluation's. */
const times = 25;
/** Of a request that never ends; of others one that a busy machine does not need either. */
const limited = {
  hanging: { timeoutMs: 20_000, stallMs: 10_000 },
  other: { timeoutMs: 200_000, stallMs: 200_000 },
};
const hanging: ReadonlySet<FaultName> = new Set(["hang", "hang_after_headers", "body_stalls", "stream_stalls"]);
const deadlineMs = 600_000;

const noted = defineEvent("noted", z.object({ text: z.string() }));
const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});
const note = defineTool({
  name: "note",
  description: "Keeps a note.",
  input: z.object({ text: z.string() }),
  execute({ text }, { session }) {
    session.dispatch(noted({ text }));
    return `noted ${text}`;
  },
});
const prompt = definePrompt({
  ns: "matrix",
  key: "notes",
  output: z.object({ total: z.number() }),
  sections: [
    { key: "guide", title: "Guide", text: "Keep notes, then count them.", tools: [note], slices: [notes] },
    { key: "request", text: "Begin.", role: "user" },
  ],
}).bind();
const again = definePrompt({ ns: "matrix", key: "again", text: "Go on." }).bind();

const steps = [
  { text: "I begin.", toolCalls: [{ name: "note", arguments: { text: "one" } }] },
  { toolCalls: [{ name: "note", arguments: { text: "two" } }] },
  { output: { total: 2 } },
] as const;

/** Every fault that applies × JSON and SSE × the first, the middle and the last turn; or a slice of that. */
export function describeFaultMatrix(name: string, options: MatrixOptions): void {
  const { slice } = options;
  const title = slice === undefined ? "every fault on every turn" : `each fault of ${slice.of} on one turn`;
  describe(`${name}: ${title}`, () => {
    const rejections: unknown[] = [];
    const hear = (reason: unknown): void => void rejections.push(reason);
    beforeAll(() => void process.on("unhandledRejection", hear));
    afterAll(() => {
      process.off("unhandledRejection", hear);
      expect(rejections).toEqual([]);
      expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    });
    const modesOf = (fault: FaultName) => [false, true].filter((stream) => faultApplies(fault, options.api, stream));
    const faults = faultNames.filter((fault) => modesOf(fault).length > 0);
    for (const [number, fault] of faults.entries()) {
      if (slice !== undefined && number % slice.of !== slice.part) continue;
      test(`THR-1 LOOP-5 LOOP-3 SEC-3 ERR-1 ${fault}`, async () => {
        const all = modesOf(fault).flatMap((stream) => [0, 1, 2].map((position) => ({ stream, position })));
        const cells =
          slice === undefined ? all : all.filter((_, at) => at === Math.floor(number / slice.of) % all.length);
        await Promise.all(cells.map((cell) => check(options, fault, cell)));
      });
    }
  });
}

interface Cell {
  readonly stream: boolean;
  readonly position: number;
}

async function check(options: MatrixOptions, fault: FaultName, { stream, position }: Cell): Promise<void> {
  const where = `${fault}, ${stream ? "SSE" : "JSON"}, turn ${position + 1}`;
  const isBreak = stream && options.breaks?.includes(fault) === true;
  const script = steps.flatMap((step, index) =>
    index !== position ? [step] : [{ ...step, fault }, ...(isBreak ? [step] : [])],
  ) as readonly SimulatorStep[];
  await using simulator = await startSimulator({ steps: script });
  const clock = fastClock(times);
  const waits = hanging.has(fault) ? limited.hanging : limited.other;
  const adapter = options.make({ baseURL: simulator.baseURL, clock, ...waits });
  const controller = new AbortController();
  const session = createSession();
  const deadline = deadlineIn(deadlineMs, clock);
  const limits = { session, deadline, signal: controller.signal };
  const outcome = await (stream ? streamed(adapter, limits) : adapter.evaluate(prompt, limits)).then(
    (response) => ({ response }),
    (error: unknown) => ({ error }),
  );
  expect(deadline.remainingMs(), `${where}: within the deadline`).toBeGreaterThan(0);
  const seen = "response" in outcome ? rightAnswer(outcome.response) : failureOf(outcome.error);
  const special = stream ? options.expectedOfStreams?.[fault] : undefined;
  expect(seen, where).toEqual(isBreak ? "right" : (special ?? options.expected?.[fault] ?? expectedOf(fault)));
  if ("error" in outcome && isEvaluationFailure(outcome.error)) expectPhase(outcome.error, where);
  const messages =
    "response" in outcome ? outcome.response.messages : (outcome.error as { messages: readonly Message[] }).messages;
  expect(parseMessages(JSON.parse(JSON.stringify(messages))), `${where}: a valid history`).toHaveLength(
    messages.length,
  );
  await goOn(options, messages, where);
  expect(clock.sleeping, `${where}: nobody sleeps any more`).toBe(0);
  expect(getEventListeners(controller.signal, "abort"), `${where}: no listener is left`).toHaveLength(0);
}

async function streamed(
  adapter: ProviderAdapter,
  limits: Parameters<ProviderAdapter["evaluate"]>[1],
): Promise<PromptResponse<{ total: number }>> {
  const stream = adapter.stream(prompt, limits);
  const texts = new Map<number, string>();
  for await (const event of stream) {
    if (event.type === "text.delta") texts.set(event.turn, (texts.get(event.turn) ?? "") + event.text);
    if (event.type === "text.reset") texts.delete(event.turn);
  }
  const response = await stream.response;
  const told = [...texts.values()].join("\n");
  const answered = response.messages.flatMap((message) =>
    message.role === "assistant" && message.text !== "" ? [message.text] : [],
  );
  expect(told, "the deltas add up to the texts").toBe(answered.join("\n"));
  return response;
}

function rightAnswer({ output }: PromptResponse<{ total: number }>): Expected | object {
  return output.total === 2 ? "right" : output;
}

function failureOf(error: unknown): unknown {
  if (!isEvaluationFailure(error)) return error;
  if (error.code === "throttled") return { code: error.code, why: error.kind };
  return error.code === "provider"
    ? { code: error.code, why: error.reason }
    : { code: error.code, message: error.message };
}

/** ERR-1: by what failed, whatever the wire; a refusal has a status. */
function expectPhase(error: EvaluationFailure, where: string): void {
  const ofAnswers = ["invalid_response", "refusal", "content_filter", "truncated"];
  const isOfAnswer = error.code === "provider" && ofAnswers.includes(error.reason) && (error.status ?? 0) < 400;
  expect(error.phase, `${where}: the phase`).toBe(isOfAnswer ? "response" : "request");
}

/** What is left of a conversation is one that the service takes. */
async function goOn(options: MatrixOptions, messages: readonly Message[], where: string): Promise<void> {
  await using simulator = await startSimulator({ steps: [{ text: "Gladly." }] });
  const clock = fastClock(times);
  const adapter = options.make({ baseURL: simulator.baseURL, clock, ...limited.other });
  const { output } = await adapter.evaluate(again, { messages, deadline: deadlineIn(deadlineMs, clock) });
  expect(output, `${where}: the conversation goes on`).toBe("Gladly.");
}
