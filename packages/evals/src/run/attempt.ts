// One attempt: a row, answered by one variant in a session and resources of its own, then scored.
import {
  deadlineIn,
  errorReason,
  InternalError,
  isEvaluationFailure,
  type BudgetTracker,
  type Clock,
  type ErrorReason,
  type EvaluateOptions,
  type EvaluationFailure,
  type JournalRun,
  type Prompt,
  type Resources,
  type Session,
  type SessionEvent,
  type Usage,
} from "@proviso/core";
import { addUsage, asJson, messageOf, noUsage } from "@proviso/core/internal";
import { createSession, openResources } from "@proviso/runtime";
import type { NamedRow } from "../data/rows.ts";
import type { AnyDefinition, ReadyVariant } from "../define/define-eval.ts";
import type { Attempt, FailedAttempt } from "../definition.ts";
import type { AttemptKey, AttemptRecord } from "../results.ts";
import {
  bounded,
  closingMs,
  defaultTimeoutMs,
  openedWithin,
  Unsettled,
  type Bounds,
  type OwnResources,
} from "../bounded.ts";
import { JudgesOfAttempt } from "../judges/asking.ts";
import { scoresOf } from "./scoring.ts";
import { Spent } from "./spent.ts";
import { redactionOf } from "./secrets.ts";

/** What all attempts of a run share. */
export interface AttemptWorld {
  readonly clock: Clock;
  readonly newId: () => string;
  readonly budget: BudgetTracker | undefined;
  readonly signal: AbortSignal;
  readonly pacing: EvaluateOptions["pacing"];
  readonly journal?: { run(): JournalRun } | undefined;
  /** What the evaluations of a variant are given, whichever row they are about; filled with its first attempt. */
  readonly given: Map<ReadyVariant, EvaluateOptions>;
}

/** An attempt that is to be made. */
export interface PlannedAttempt extends AttemptKey {
  /** The place in the order of the run. */
  readonly place: number;
  readonly row: NamedRow<object>;
  readonly of: ReadyVariant;
  /** The prompt of the row, which the hash is of; undefined: a task, or a prompt that could not be bound. */
  readonly prompt: Prompt | undefined;
  /** The hash of what the model is shown first, and of the variant. */
  readonly subjectHash: string;
}

/** What one attempt works with. */
interface Stage {
  readonly session: Session;
  readonly resources: Resources;
  readonly events: SessionEvent[];
  readonly options: EvaluateOptions;
}

/** What the subject came to, and what it spent. */
interface Ended {
  readonly output?: unknown;
  readonly failure?: EvaluationFailure;
  readonly reason?: ErrorReason;
}

/** The run's own end or budget cut it short; what it spent until then is spent. */
export interface NotRun {
  readonly notRun: "budget" | "aborted" | "refused";
  /** Why no worker could make it; only where it was refused. */
  readonly message?: string | undefined;
  readonly usage: Usage;
}

/** Makes an attempt and scores it. "not run": the run's own end or budget cut it short. Never rejects. */
export async function attempted(
  definition: AnyDefinition,
  planned: PlannedAttempt,
  world: AttemptWorld,
): Promise<AttemptRecord | NotRun> {
  const startedAt = world.clock.now();
  const spent = new Spent(world.journal);
  const { clock, signal } = world;
  const bounds: Bounds = { clock, signal, ms: definition.timeoutMs ?? defaultTimeoutMs };
  let own: OwnResources | undefined;
  let stage: Stage | undefined;
  try {
    let ended: Ended;
    try {
      own = definition.resources && (await openedWithin(bounds, definition.resources(planned.row.row)));
      stage = staged(definition, planned, { world, own, spent, shown: own ?? noResources ?? (await openNone()) });
      ended = jsonOutput(await answered(planned, stage, { spent, bounds }));
    } catch (error) {
      ended = failed(error, planned, spent);
    }
    if (ended.reason === "budget_error" && world.budget !== undefined) return { notRun: "budget", usage: spent.usage };
    if (world.signal.aborted) return { notRun: "aborted", usage: spent.usage };
    const durationMs = Math.max(0, world.clock.now() - startedAt);
    const judges = new JudgesOfAttempt(world, definition);
    const resources = own ?? noResources ?? (await openNone());
    const attempt = attemptOf(planned, { stage, ended, spent, durationMs, resources });
    const scores = await scoresOf(definition, attempt, judges);
    const record = recordOf(definition, planned, { attempt, ended, scores, spent, judges });
    if (judges.cut !== undefined) return { notRun: judges.cut, usage: addUsage(attempt.usage, judges.usage) };
    return record;
  } finally {
    // Also where a fixture threw after they were opened.
    if (own !== undefined) await closed(own, world);
  }
}

/** What attempts without resources show their scorers: nothing is in it, so all of them share it. */
let noResources: Resources | undefined;

async function openNone(): Promise<Resources> {
  return (noResources = await openResources([]));
}

function staged(
  definition: AnyDefinition,
  { row, of }: PlannedAttempt,
  {
    world,
    own,
    shown,
    spent,
  }: {
    readonly world: AttemptWorld;
    readonly own: OwnResources | undefined;
    readonly shown: Resources;
    readonly spent: Spent;
  },
): Stage {
  const session = definition.session?.(row.row) ?? createSession({ id: world.newId() });
  const events: SessionEvent[] = [];
  session.on("*", (event) => void events.push(event));
  spent.follow(session);
  const deadline = deadlineIn(definition.timeoutMs ?? defaultTimeoutMs, world.clock);
  // One spread, and in front: V8 makes an object with one behind other fields many times slower.
  const options: Given = { ...givenTo(of, world), session, deadline };
  if (own !== undefined) options.resources = own;
  if (definition.messages !== undefined) options.messages = definition.messages(row.row);
  return { session, resources: shown, events, options };
}

type Given = { -readonly [Name in keyof EvaluateOptions]: EvaluateOptions[Name] };

/** What all attempts of a variant are given. */
function givenTo(of: ReadyVariant, { given, budget, signal, pacing }: AttemptWorld): EvaluateOptions {
  const known = given.get(of);
  if (known !== undefined) return known;
  const { overrides, options } = of.settings;
  const made: EvaluateOptions = {
    ...options,
    signal,
    ...(overrides === undefined ? {} : { overrides }),
    ...(budget === undefined ? {} : { budget }),
    ...(pacing === undefined ? {} : { pacing }),
  };
  given.set(of, made);
  return made;
}

async function answered(
  { row, of, prompt }: PlannedAttempt,
  stage: Stage,
  { spent, bounds }: { readonly spent: Spent; readonly bounds: Bounds },
): Promise<unknown> {
  const { session, resources, options } = stage;
  if ("prompt" in of.subject) {
    const asked = prompt ?? of.subject.prompt(row.row);
    const { run } = spent.recorded();
    return (await spent.add(of.adapter.evaluate(asked, run === undefined ? options : { ...options, run }))).output;
  }
  const { messages: _first, ...later } = options;
  const signal = options.signal as AbortSignal;
  const working = of.subject.task(row.row, {
    session,
    resources,
    signal,
    evaluate: (prompt, more) =>
      spent.tracked(of.adapter.evaluate(prompt, { ...later, ...spent.recorded(more), ...more })),
  });
  return bounded(working, bounds, () => spent.idle());
}

/** An output that is no JSON could not be kept: the attempt failed. */
function jsonOutput(output: unknown): Ended {
  if (output === undefined) return { output: null };
  const json = asJson(output);
  if ("value" in json) return { output: json.value };
  const message = `The output cannot be kept as JSON: ${json.odd.path.map(String).join(".")} ${json.odd.problem}`;
  return { failure: unforeseen(message, undefined, noUsage), reason: "invalid_response_error" };
}

function failed(error: unknown, planned: PlannedAttempt, { usage }: Spent): Ended {
  if (isEvaluationFailure(error)) return { failure: error, reason: errorReason(error) ?? "unknown_error" };
  const attempt = `The attempt ${planned.rowId} of ${planned.variant}`;
  if (error instanceof Unsettled) {
    return { failure: unforeseen(`${attempt}: ${error.message}`, error, usage), reason: "deadline_error" };
  }
  const message = `${attempt} threw: ${messageOf(error)}`;
  return { failure: unforeseen(message, error, usage), reason: "unknown_error" };
}

function unforeseen(message: string, cause: unknown, usage: Usage): EvaluationFailure {
  return new InternalError(message, { phase: "render", promptName: "", usage, messages: [], toolResults: [], cause });
}

/** What scorers are shown. */
function attemptOf(
  { rowId, variant, repetition, row }: PlannedAttempt,
  of: {
    readonly stage: Stage | undefined;
    readonly ended: Ended;
    readonly spent: Spent;
    readonly durationMs: number;
    readonly resources: Resources;
  },
): Attempt | FailedAttempt {
  const { stage, ended, spent, durationMs, resources } = of;
  const events = stage?.events ?? [];
  let turns = 0;
  for (const event of events) if (event.type === "provider.responded") turns += 1;
  const session = stage?.session ?? createSession();
  const { usage } = spent;
  const base = { variant, row: row.row, rowId, repetition, events, session, resources, usage, turns, durationMs };
  return ended.failure === undefined ? { ...base, output: ended.output } : { ...base, failure: ended.failure };
}

/** What is kept. */
function recordOf(
  definition: AnyDefinition,
  { rowId, variant, repetition, row, subjectHash }: PlannedAttempt,
  of: {
    readonly attempt: Attempt | FailedAttempt;
    readonly ended: Ended;
    readonly scores: AttemptRecord["scores"];
    readonly spent: Spent;
    readonly judges: JudgesOfAttempt;
  },
): AttemptRecord {
  const { ended, spent, judges } = of;
  const { failure } = ended;
  const redact = redactionOf(definition);
  // Written out: what stands behind a spread costs V8 more than all the rest of a record.
  const record: AttemptRecord = {
    rowId,
    variant,
    repetition,
    rowHash: row.hash,
    subjectHash,
    status: "answered",
    output: failure === undefined ? redact(ended.output) : undefined,
    scores: redact(of.scores),
    usage: of.attempt.usage,
    judgeUsage: judges.usage,
    model: spent.model,
    turns: of.attempt.turns,
    durationMs: of.attempt.durationMs,
  };
  const whole = spent.runIds.length === 0 ? record : { ...record, runIds: spent.runIds };
  if (failure === undefined) return whole;
  const { output: _, ...rest } = whole;
  const shown = { reason: ended.reason ?? "unknown_error", message: redact(failure.message) };
  return { ...rest, status: "failed", failure: shown };
}

/** What a close throws changes nothing, nor that it does not end: the attempt is over. */
async function closed(own: OwnResources, { clock }: AttemptWorld): Promise<void> {
  try {
    await bounded(own[Symbol.asyncDispose](), { clock, ms: closingMs });
  } catch {
    // What was answered and scored stands.
  }
}
