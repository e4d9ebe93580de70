import {
  allow,
  deadlineIn,
  definePolicy,
  deny,
  trackBudget,
  type Binding,
  type BudgetTracker,
  type EvaluateOptions,
  type Filesystem,
  type Session,
  type ToolContext,
  type ToolPolicy,
} from "@proviso/core";
import { createSession, memoryFilesystem } from "@proviso/runtime";
import { fakeEnvironment, type FakeClock } from "@proviso/runtime/testing";
import { openBook, type Book } from "./checks.ts";
import { expectedState, type Expected } from "./expected.ts";
import { keyOf, type CallName } from "./names.ts";
import { randomFrom, type Random } from "./random.ts";
import { createRegistry, type Registry, type Settings, type Watched } from "./registry.ts";
import { noted, slices } from "./slices.ts";
import { createVault, thingBindings, type Mood, type Thing, type Vault } from "./vault.ts";

/** What kind of run it is, drawn from the seed. */
export interface Shape {
  readonly concurrent: number;
  readonly rounds: number;
  /** How often in a round the application dispatches by itself. */
  readonly visits: number;
  readonly sessions: number;
  readonly mood: Mood;
  readonly honest: boolean;
  readonly nativeOutput: boolean;
  readonly output: "text" | "object" | "list" | "number";
}

/** Everything that evaluations of a run work on. */
export interface World {
  readonly seed: number;
  readonly shape: Shape;
  readonly random: Random;
  readonly book: Book;
  readonly environment: ReturnType<typeof fakeEnvironment>;
  readonly clock: FakeClock;
  readonly startedAt: number;
  readonly sessions: readonly Session[];
  readonly files: Filesystem;
  readonly vault: Vault;
  readonly things: Thing[];
  /** Of sections whose resources could not be made. */
  readonly openings: { failed: number };
  readonly bindings: readonly Binding[];
  readonly shared: BudgetTracker | undefined;
  readonly expected: Expected;
  readonly registry: Registry;
  readonly policy: ToolPolicy;
  /** Calls whose handler began, and whose handler came to a good end. */
  readonly executed: Set<string>;
  readonly finished: Set<string>;
  /** Ids of the sessions of which a rollback or a commit failed. */
  readonly torn: Set<string>;
  readonly freshOf: Map<string, string>;
  /** What handlers were given, by call. */
  readonly signals: Map<string, AbortSignal>;
  /** What to try when the calls are long over. */
  readonly late: { readonly callId: string; readonly attempt: () => Promise<readonly string[]> }[];
  limitsOf(evaluationId: string): Pick<Watched, "passed">;
  /** Options of an evaluation inside a call. */
  narrowed(context: ToolContext, how: "" | "deadline" | "budget" | "turns", times: number): EvaluateOptions;
  /** From now on several evaluations may be under way at once. */
  crowd(): void;
  readonly isCrowded: boolean;
}

const filesBefore: Readonly<Record<string, string>> = { "before.txt": "before", "d0/old.txt": "old" };

export function createWorld(seed: number): World {
  const random = randomFrom(seed);
  const shape = randomShape(random);
  const book = openBook();
  const environment = fakeEnvironment(seed, { turns: 1 });
  const { clock } = environment;
  const registry = createRegistry();
  const things: Thing[] = [];
  const expected = expectedState(book, filesBefore);
  let isCrowded = shape.concurrent > 1;
  const limit = 400 + random.int(9_000);
  const shared = random.chance(0.45) ? trackBudget({ maxTotalTokens: limit }) : undefined;
  return {
    seed,
    shape,
    random,
    book,
    environment,
    clock,
    startedAt: clock.now(),
    sessions: Array.from({ length: shape.sessions }, (_, index) =>
      createSession({ slices, id: `session-${seed}-${index}` }),
    ),
    files: memoryFilesystem(filesBefore),
    vault: createVault(random, clock, shape.mood),
    things,
    openings: { failed: 0 },
    bindings: thingBindings(clock, things),
    shared,
    expected,
    registry,
    policy: randomPolicy(random, clock, expected, registry),
    executed: new Set(),
    finished: new Set(),
    torn: new Set(),
    freshOf: new Map(),
    signals: new Map(),
    late: [],
    limitsOf: (evaluationId) => registry.of(evaluationId) ?? { passed: () => "nobody knows" },
    narrowed(context, how, times) {
      const { options, settings } = narrowed(registry, expected, clock, random, context, how);
      for (let i = 0; i < times; i++) if (settings !== undefined) registry.announceInside(context, settings);
      return options;
    },
    crowd: () => void (isCrowded = true),
    get isCrowded() {
      return isCrowded;
    },
  };
}

function randomShape(random: Random): Shape {
  const concurrent = random.chance(0.35) ? 2 + random.int(2) : 1;
  return {
    concurrent,
    rounds: 1 + random.int(3),
    visits: random.chance(0.25) ? 1 + random.int(4) : 0,
    sessions: concurrent > 1 && random.chance(0.3) ? 2 : 1,
    mood: random.chance(0.7) ? "good" : random.pick(["slow", "moody"] as const),
    honest: random.chance(0.4),
    nativeOutput: random.chance(0.5),
    output: random.pick(["text", "object", "list", "number"] as const),
  };
}

/** Denies, throws, takes its time, writes something down, or has the evaluation aborted. */
function randomPolicy(random: Random, clock: FakeClock, expected: Expected, registry: Registry): ToolPolicy {
  return definePolicy({
    name: "chance",
    async check(_, context) {
      const kind = random.int(100);
      if (kind < 5) await clock.sleep(random.int(3_000));
      else if (kind < 8) await Promise.resolve();
      if (kind >= 8 && kind < 16) {
        const text = `policy ${keyOf(context)}`;
        context.session.dispatch(noted({ text }));
        expected.did(context.session.id, keyOf(context), { kind: "entry", text });
      }
      if (kind >= 12 && kind < 20) return deny("not now");
      if (kind >= 20 && kind < 22) throw new Error("the policy is broken");
      if (kind === 22) registry.of(context.evaluationId)?.abort();
      return allow();
    },
  });
}

function narrowed(
  registry: Registry,
  expected: Expected,
  clock: FakeClock,
  random: Random,
  context: ToolContext,
  how: "" | "deadline" | "budget" | "turns",
): { readonly options: EvaluateOptions; readonly settings: Settings | undefined } {
  const around = registry.of(context.evaluationId);
  const call: CallName = context;
  const deadline = how === "deadline" ? deadlineIn(random.int(3_000), clock) : undefined;
  const budget = how === "budget" ? trackBudget({ maxOutputTokens: 20 + random.int(200) }) : undefined;
  const maxTurns = how === "turns" ? 1 : 2 + random.int(5);
  const options = { deadline, budget, maxTurns };
  if (around === undefined) return { options, settings: undefined };
  return {
    options,
    settings: {
      ...around,
      deadlines: deadline === undefined ? around.deadlines : [...around.deadlines, deadline],
      trackers: budget === undefined ? around.trackers : [...around.trackers, budget],
      maxTurns,
      maxRepairs: 0,
      given: [],
      hasOutput: false,
      abortedAt: () => around.abortedAt() ?? (expected.isOver(call) ? clock.now() : undefined),
      mayBeAborted: () => around.mayBeAborted() || context.signal.aborted || expected.isLeft(call),
    },
  };
}
