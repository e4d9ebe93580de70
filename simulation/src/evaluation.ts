import {
  deadlineIn,
  isEvaluationFailure,
  ListenerError,
  trackBudget,
  type EvaluateOptions,
  type EvaluationFailure,
  type EvaluationStream,
  type FrameworkEvent,
  type Message,
  type PromptResponse,
  type Resources,
  type Session,
  type StreamEvent,
  type ThrottlePolicy,
} from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { getEventListeners } from "node:events";
import { grace } from "./end-check.ts";
import { checkLeft } from "./history-check.ts";
import { randomModel } from "./model.ts";
import type { Prompts } from "./prompts.ts";
import { randomFrom, type Random } from "./random.ts";
import type { Settings, Watched } from "./registry.ts";
import { checkStream } from "./stream-check.ts";
import type { World } from "./world.ts";

/** Where one evaluation of a round stands. */
export interface Place {
  readonly session: Session;
  readonly resources: Resources;
  readonly prompts: Prompts;
  readonly messages: readonly Message[];
  readonly index: number;
  /** Hears the events of an evaluation from now on. */
  readonly watch: (name: string, listener: (watched: Watched, event: FrameworkEvent) => void) => void;
}

type Outcome =
  | { readonly response: PromptResponse<unknown>; readonly error?: undefined }
  | { readonly response?: undefined; readonly error: unknown };

/** One evaluation with whatever limits, watched or not, and what has to hold when it settles. */
export async function evaluateOnce(world: World, place: Place): Promise<readonly Message[]> {
  const { random, clock, book, registry, startedAt } = world;
  const { session, resources, prompts, index } = place;
  const name = `t${clock.now() - startedAt}e${index}`;
  const limits = randomLimits(world);
  const given = random.chance(0.5) ? place.messages : [];
  const maxRepairs = random.pick([0, 0, 1, 2]);
  const draws = drawer(world.seed * 31 + registry.all().length * 101 + index);
  const throttle = randomThrottle(random);
  const settings: Settings = {
    name,
    throttle,
    drawn: draws.taken,
    hasOutput: prompts.hasOutput,
    maxRepairs,
    given,
    ...limits.bounds,
  };
  registry.announce(settings);
  let began: Watched | undefined;
  let heard = 0;
  place.watch(name, (watched) => {
    if (!watched.isNested) began ??= watched;
    if (heard++ === limits.abortAfterEvents) limits.abort();
  });
  const { mayHang } = limits;
  const { honest, output, nativeOutput } = world.shape;
  const provider = randomModel(world, { random, honest, mayHang, output, name }, nativeOutput);
  // Costs are what is reported; a catalog would be loaded in real time.
  const pricing = { input: 0, output: 0 };
  const adapter = modelAdapter(provider, { ...world.environment, random: draws.next, throttle, pricing });
  const options = { ...limits.options, session, resources, messages: given, maxRepairs };

  const isStreamed = random.chance(0.4);
  let outcome: Outcome;
  if (isStreamed) {
    const stream = adapter.stream(prompts.outer, options);
    const reading = read(world, stream, limits.abort);
    outcome = await settled(stream.response);
    checkSettled(world, outcome, limits, began);
    await checkStream(world, began, await reading);
  } else {
    outcome = await settled(adapter.evaluate(prompts.outer, options));
    checkSettled(world, outcome, limits, began);
  }
  book.demand(getEventListeners(limits.signal, "abort").length === 0, "LIM-3 a listener stays on the signal");
  const left = outcome.response ?? (isEvaluationFailure(outcome.error) ? outcome.error : undefined);
  const messages = left?.messages ?? [];
  const how = outcome.response?.finishReason ?? (outcome.error as { code?: string } | undefined)?.code;
  book.note(`${index} ends with ${how}, ${messages.length} messages`);
  checkLeft(book, messages);
  return messages;
}

function settled(response: Promise<PromptResponse<unknown>>): Promise<Outcome> {
  return response.then(
    (value) => ({ response: value }),
    (error: unknown) => ({ error }),
  );
}

function checkSettled(world: World, outcome: Outcome, limits: Limits, began: Watched | undefined): void {
  const { book, clock } = world;
  const { deadlines, abortedAt } = limits.bounds;
  const latest = Math.min(abortedAt() ?? Infinity, ...deadlines.map(({ expiresAt }) => expiresAt.getTime()));
  const late = clock.now() - latest;
  book.demand(late <= grace, `LIM-2 settled ${late} ms after its limit`);
  book.demand(began?.hasEnded !== false, "LOOP-1 it settles before it has told its end");
  const last = began?.events.at(-1);
  if (outcome.response !== undefined) {
    book.demand(last?.type === "prompt.executed", `LOOP-1 it succeeds after ${last?.type}`);
    const { usage, turns } = outcome.response;
    if (last?.type === "prompt.executed")
      book.demand(
        usage.totalTokens === last.usage.totalTokens && turns === last.turns,
        "LOOP-6 response and event differ",
      );
    return;
  }
  if (!isEvaluationFailure(outcome.error)) {
    book.demand(false, `ERR-1 it rejects with ${typeof outcome.error}: ${(outcome.error as Error | undefined)?.stack}`);
    return;
  }
  checkError(world, outcome.error as EvaluationFailure, last);
}

function checkError(
  { book, vault, openings }: World,
  error: EvaluationFailure,
  last: FrameworkEvent | undefined,
): void {
  if (error instanceof ListenerError) {
    book.demand(last?.type === "prompt.executed", `EVT-3 a listener's error comes after ${last?.type}`);
    return;
  }
  if (last === undefined) {
    // It never rendered: a limit that was passed already, a session that cannot be used, or a resource that is lacking.
    const isUnusable = error.code === "render" && vault.hasFailed && error.message.includes("cannot be used any more");
    const isPassed = ["deadline", "aborted", "budget"].includes(error.code) && error.phase === "render";
    const isLacking = error.code === "render" && openings.failed > 0 && error.message.includes("nothing to open");
    book.demand(
      isUnusable || isPassed || isLacking,
      `LIM-1 it fails before it renders with ${error.code}: ${error.message}`,
    );
    return;
  }
  book.demand(last.type === "prompt.failed" && last.code === error.code, `LOOP-1 ${error.code} after ${last.type}`);
  if (error.code === "throttled") book.demand(error.attempts >= 1, "THR-6 what is told of giving up");
}

interface Limits {
  readonly options: EvaluateOptions;
  readonly bounds: Pick<
    Settings,
    "deadlines" | "trackers" | "hasHiddenBudget" | "maxTurns" | "abortedAt" | "mayBeAborted" | "abort"
  >;
  readonly signal: AbortSignal;
  /** Something ends it, whatever it waits for. */
  readonly mayHang: boolean;
  /** Aborts when so many of its events were heard. */
  readonly abortAfterEvents: number | undefined;
  abort(): void;
}

function randomLimits({ random, clock, shape, shared }: World): Limits {
  const controller = new AbortController();
  let abortedAt: number | undefined;
  const abort = (): void => {
    abortedAt ??= clock.now();
    controller.abort(random.pick([new Error("enough"), "enough", undefined]));
  };
  const needsEnd = shape.mood === "moody";
  const deadline =
    needsEnd || random.chance(0.55)
      ? deadlineIn(random.chance(0.04) ? random.int(2) : 200 + random.int(40_000), clock)
      : undefined;
  const abortAfterMs = random.chance(0.2) ? random.int(20_000) : undefined;
  if (abortAfterMs !== undefined) void clock.sleep(abortAfterMs).then(abort);
  if (random.chance(0.02)) abort();
  const plain = random.chance(0.15);
  const own = {
    ...random.pick([
      { maxTotalTokens: 300 + random.int(4_000) },
      { maxOutputTokens: 40 + random.int(600) },
      { maxInputTokens: 300 + random.int(4_000), maxTotalTokens: 1e9 },
      { maxCostUsd: 0.025, maxTotalTokens: 1e9 },
    ]),
    ...(random.chance(0.2) ? { deadline: deadlineIn(500 + random.int(40_000), clock) } : {}),
  };
  const kind = random.int(10);
  const tracker = kind < 5 ? shared : kind < 8 ? trackBudget(own) : undefined;
  const budget = tracker !== undefined && tracker !== shared && plain ? own : tracker;
  const maxTurns = 2 + random.int(12);
  const fromBudget = budget === undefined || budget === shared ? undefined : own.deadline;
  return {
    options: { deadline, budget, signal: controller.signal, maxTurns },
    bounds: {
      deadlines: [deadline, fromBudget].filter((each) => each !== undefined),
      trackers: tracker === undefined || budget === own ? [] : [tracker],
      hasHiddenBudget: budget === own,
      maxTurns,
      abortedAt: () => abortedAt,
      mayBeAborted: () => false,
      abort,
    },
    signal: controller.signal,
    mayHang: deadline !== undefined || abortAfterMs !== undefined,
    abortAfterEvents: random.chance(0.12) ? random.int(25) : undefined,
    abort,
  };
}

function randomThrottle(random: Random): ThrottlePolicy {
  return {
    maxAttempts: 1 + random.int(5),
    baseDelayMs: random.pick([0, 100, 500, 500]),
    maxDelayMs: random.pick([400, 8_000]),
    maxTotalDelayMs: random.pick([400, 1_000, 30_000, 200_000]),
    quotaDelayMs: random.pick([5_000, 60_000]),
  };
}

/** Randomness for waits alone, which tells what was drawn of it. */
function drawer(seed: number): { next(): number; taken(): readonly number[] } {
  const numbers = randomFrom(seed);
  const drawn: number[] = [];
  return {
    next() {
      const share = numbers.next();
      drawn.push(share);
      return share;
    },
    taken: () => drawn.splice(0),
  };
}

export interface Reading {
  readonly events: readonly StreamEvent[];
  /** It went away before the end. */
  readonly left: boolean;
  readonly error: unknown;
}

/** Reads at any pace, to the end or not, or not at all. */
async function read({ random, clock }: World, stream: EvaluationStream<unknown>, abort: () => void): Promise<Reading> {
  const events: StreamEvent[] = [];
  if (random.chance(0.1)) return { events, left: true, error: undefined };
  const leavesAfter = random.chance(0.15) ? 1 + random.int(20) : Infinity;
  const paceMs = random.chance(0.2) ? random.int(100) : 0;
  try {
    for await (const event of stream) {
      events.push(event);
      if (paceMs > 0) await clock.sleep(paceMs);
      if (events.length < leavesAfter) continue;
      abort();
      return { events, left: true, error: undefined };
    }
  } catch (error) {
    return { events, left: false, error };
  }
  return { events, left: false, error: undefined };
}
