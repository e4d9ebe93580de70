import {
  deadlineIn,
  Filesystem,
  isEvaluationFailure,
  parseMessages,
  provide,
  trackBudget,
  type BudgetTracker,
  type FrameworkEvent,
  type Message,
  type SessionEvent,
  type ThrottlePolicy,
} from "@proviso/core";
import { modelAdapter, openResources } from "@proviso/runtime";
import { getEventListeners } from "node:events";
import { openBook, type Book } from "./checks.ts";
import { expectedState } from "./expected.ts";
import { randomModel } from "./model.ts";
import { randomFrom, type Random } from "./random.ts";
import { throttleCheck } from "./throttle-check.ts";
import { createWorld, journal, ledger, noted, successes, vaultKey, type World } from "./world.ts";

export interface Outcome {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly trace: readonly string[];
}

/** Milliseconds after which everything has to be over. */
const longest = 400_000;

/** One run from a seed: several evaluations on one world, checked against a simple model. */
export async function simulate(seed: number): Promise<Outcome> {
  const random = randomFrom(seed);
  const book = openBook();
  const world = createWorld(seed, random, book);
  const concurrent = random.chance(0.35) ? 2 + random.int(2) : 1;
  const rounds = 1 + random.int(2);
  await using resources = await openResources([provide(Filesystem, world.files), provide(vaultKey, world.vault)]);
  const honest = random.chance(0.4);
  const limit = 400 + random.int(6_000);
  const budget = random.chance(0.5) ? trackBudget({ maxTotalTokens: limit }) : undefined;
  const alone = concurrent === 1;
  const hearing = hear(world, book, () => alone && budget?.exceeded() !== undefined);

  const setting: Setting = { seed, random, book, world, budget, honest, alone, hearing };
  let messages: readonly Message[] = [];
  for (let round = 0; round < rounds; round++) {
    const evaluating = Array.from({ length: concurrent }, (_, index) =>
      evaluateOnce(setting, { messages, resources, index }),
    );
    const settled = Promise.all(evaluating).then((all) => void ([messages = []] = all));
    await passTime(world, settled, book);
    await checkState(setting, "after a round");
  }
  await world.clock.advance(60_000);
  for (const { attempt, callId } of world.late) book.same(await attempt(), [], `TX-3 after the call ${callId} is over`);
  await checkState(setting, "after late tries");
  book.demand(world.clock.pending === 0, `SEC-3 ${world.clock.pending} still sleep`);
  book.demand(({} as Record<string, unknown>)["polluted"] === undefined, "SEC-3 Object.prototype was touched");
  return { seed, violations: book.violations, trace: book.trace };
}

interface Setting {
  readonly seed: number;
  readonly random: Random;
  readonly book: Book;
  readonly world: World;
  readonly budget: BudgetTracker | undefined;
  readonly honest: boolean;
  /** No other evaluation at the same time: the state can be compared between any two steps. */
  readonly alone: boolean;
  readonly hearing: ReturnType<typeof hear>;
}

async function passTime({ clock }: World, settled: Promise<unknown>, book: Book): Promise<void> {
  let over = false;
  void settled.finally(() => (over = true));
  for (let passed = 0; !over && passed < longest; passed += 1_000) await clock.advance(1_000);
  book.demand(over, "LIM-2 an evaluation does not end");
}

async function evaluateOnce(
  setting: Setting,
  {
    messages,
    resources,
    index,
  }: {
    readonly messages: readonly Message[];
    readonly resources: Awaited<ReturnType<typeof openResources>>;
    readonly index: number;
  },
): Promise<readonly Message[]> {
  const { seed, random, book, world, budget, honest, hearing } = setting;
  const { clock, session } = world;
  const drawn: number[] = [];
  const numbers = randomFrom(seed * 31 + index + 7);
  const draw = (): number => {
    const share = numbers.next();
    drawn.push(share);
    return share;
  };
  const throttle = randomPolicy(random);
  const deadline = random.chance(0.6) ? deadlineIn(300 + random.int(40_000), clock) : undefined;
  const controller = new AbortController();
  const abortAfterMs = random.chance(0.25) ? random.int(20_000) : undefined;
  const startedAt = clock.now();
  if (abortAfterMs !== undefined) void clock.sleep(abortAfterMs).then(() => controller.abort(new Error("enough")));

  const check = async (): Promise<void> => {
    if (setting.alone) await checkState(setting, "before a request");
  };
  const name = `t${startedAt - 1_767_225_600_000}e${index}`;
  const mayHang = deadline !== undefined || abortAfterMs !== undefined;
  const provider = randomModel({ random, clock, book, honest, check, name, mayHang });
  const adapter = modelAdapter(provider, { ...world.environment, random: draw, throttle });
  const stop = hearing.watch(
    name,
    throttleCheck(
      book,
      throttle,
      () => drawn.splice(0),
      () => deadline?.remainingMs() ?? Infinity,
    ),
  );
  const limits = { session, resources, deadline, budget, signal: controller.signal, maxTurns: 3 + random.int(12) };
  const outcome = await adapter.evaluate(world.outer, { ...limits, messages: random.chance(0.5) ? messages : [] }).then(
    (response) => ({ response, error: undefined }),
    (error: unknown) => ({ error, response: undefined }),
  );
  stop();
  const latest = Math.min(
    deadline?.expiresAt.getTime() ?? Infinity,
    abortAfterMs === undefined ? Infinity : startedAt + abortAfterMs,
  );
  book.demand(clock.now() <= latest + 100, `LIM-2 settled ${clock.now() - latest} ms after its limit`);
  book.demand(getEventListeners(controller.signal, "abort").length === 0, "LIM-3 a listener stays on the signal");
  if (outcome.error !== undefined && !isEvaluationFailure(outcome.error)) {
    book.demand(false, `ERR-1 it rejects with a ${typeof outcome.error}`);
    return [];
  }
  const left = outcome.response?.messages ?? (outcome.error as { messages: readonly Message[] }).messages;
  book.note(
    `${index} ends with ${outcome.response?.finishReason ?? (outcome.error as { code: string }).code}, ${left.length} messages`,
  );
  try {
    parseMessages(JSON.parse(JSON.stringify(left)));
  } catch (error) {
    book.demand(false, `LOOP-3 what is left cannot be gone on from: ${(error as Error).message}`);
  }
  return left;
}

function randomPolicy(random: Random): ThrottlePolicy {
  return {
    maxAttempts: 1 + random.int(5),
    baseDelayMs: random.pick([0, 100, 500, 500]),
    maxDelayMs: random.pick([400, 8_000]),
    maxTotalDelayMs: random.pick([400, 1_000, 30_000, 200_000]),
    quotaDelayMs: random.pick([5_000, 60_000]),
  };
}

/** Hears every event of the session: their numbers, their order, what is heard of calls that were undone. */
function hear(world: World, book: Book, isSpent: () => boolean) {
  const { session } = world;
  const expected = expectedState();
  const heard: string[] = [];
  const ended = new Set<string>();
  const rendered = new Set<string>();
  const watchers = new Map<string, (event: FrameworkEvent) => void>();
  /** By evaluation. */
  const adapters = new Map<string, string>();
  let seq = 0;
  let spent = 0;
  session.on("*", (event: SessionEvent) => {
    if (event.evaluationId === undefined) {
      if (event.type === "noted") heard.push((event as ReturnType<typeof noted>).text);
      return;
    }
    const told = event as FrameworkEvent;
    book.note(`${told.at - 1_767_225_600_000} ${told.evaluationId} ${told.type}${detailOf(told)}`);
    book.demand(told.seq === seq, `EVT-2 number ${told.seq} comes after ${seq - 1}`);
    seq = told.seq + 1;
    book.demand(!ended.has(told.evaluationId), `LOOP-1 ${told.type} comes after the end of ${told.evaluationId}`);
    if (told.type === "prompt.rendered") {
      rendered.add(told.evaluationId);
      adapters.set(told.evaluationId, told.adapter);
    }
    book.demand(rendered.has(told.evaluationId), `LOOP-1 ${told.type} comes before prompt.rendered`);
    if (told.type === "prompt.executed" || told.type === "prompt.failed") ended.add(told.evaluationId);
    expected.hear(event);
    if (told.type === "provider.responded") spent += told.usage.totalTokens;
    if (told.type === "tool.requested") book.demand(!isSpent(), "LIM-4 a tool begins although the budget is passed");
    watchers.get(adapters.get(told.evaluationId) ?? "")?.(told);
  });
  return {
    expected,
    heard,
    /** Of the evaluations of one adapter. */
    watch(adapter: string, watcher: (event: FrameworkEvent) => void): () => void {
      watchers.set(adapter, watcher);
      return () => watchers.delete(adapter);
    },
    spent: () => spent,
    allEnded: () => [...rendered].every((evaluation) => ended.has(evaluation)),
  };
}

function detailOf(event: FrameworkEvent): string {
  if (event.type === "tool.invoked")
    return ` ${event.name} ${event.callId} ${event.result.success ? "ok" : event.result.message}`;
  if (event.type === "provider.throttled") return ` ${event.kind} ${event.delayMs}`;
  return event.type === "prompt.failed" ? ` ${event.code}` : "";
}

/** Between two steps nothing is under way: everything has to be as the calls' results say. */
async function checkState({ book, world, hearing, budget, honest }: Setting, when: string): Promise<void> {
  const { session, files, vault } = world;
  const entries = hearing.expected.entries();
  book.same(session.get(ledger), entries, `TX-1 TX-2 the session's state ${when}`);
  book.same(vault.entries, entries, `TX-1 TX-2 the vault ${when}`);
  const paths = (await files.glob("**")).toSorted();
  book.same(paths, ["before.txt", ...entries.map((entry) => `${entry}.txt`)].toSorted(), `TX-1 TX-2 the files ${when}`);
  book.same(session.get(journal).length, world.dispatched(), `TX-7 the journal ${when}`);
  book.same(session.get(successes), hearing.expected.successes(), `TX-5 what was recorded ${when}`);
  if (when.startsWith("after")) {
    book.same(hearing.heard, entries, `TX-6 what listeners heard ${when}`);
    book.demand(hearing.allEnded(), `LOOP-1 an evaluation that rendered has no end ${when}`);
  }
  if (budget === undefined) return;
  const { consumed } = budget;
  const limit = budget.budget.maxTotalTokens ?? Infinity;
  book.demand(consumed.totalTokens >= 0 && Number.isFinite(consumed.totalTokens), "LIM-6 the sum is no number");
  book.same(consumed.totalTokens, hearing.spent(), `LIM-4 what the budget counted ${when}`);
  if (honest) book.demand(consumed.totalTokens <= limit, `LIM-5 ${consumed.totalTokens} tokens of ${limit} were spent`);
}
