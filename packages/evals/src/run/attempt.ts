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
  type PromptResponse,
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
import { JudgesOfAttempt } from "../judges/asking.ts";
import { bounded, closingMs, defaultTimeoutMs, openedWithin, Unsettled, type Bounds } from "./bounded.ts";
import { scoresOf } from "./scoring.ts";
import { redactionOf } from "./secrets.ts";

/** What all attempts of a run share. */
export interface AttemptWorld {
  readonly clock: Clock;
  readonly newId: () => string;
  readonly budget: BudgetTracker | undefined;
  readonly signal: AbortSignal;
  readonly pacing: EvaluateOptions["pacing"];
  readonly journal?: { run(): JournalRun } | undefined;
}

/** An attempt that is to be made. */
export interface PlannedAttempt extends AttemptKey {
  /** The place in the order of the run. */
  readonly place: number;
  readonly row: NamedRow<object>;
  readonly of: ReadyVariant;
  /** The hash of what the model is shown first, and of the variant. */
  readonly subjectHash: string;
}

/** What one attempt works with. */
interface Stage {
  readonly session: Session;
  readonly resources: Resources;
  /** Closes the attempt's own resources; undefined: it has none. */
  readonly close: (() => PromiseLike<void>) | undefined;
  readonly events: SessionEvent[];
  readonly options: EvaluateOptions;
  readonly bounds: Bounds;
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
  let stage: Stage | undefined;
  try {
    let ended: Ended;
    try {
      stage = await staged(definition, planned, world);
      ended = { output: await answered(planned, stage, spent) };
      ended = jsonOutput(ended.output);
    } catch (error) {
      ended = failed(error, planned, spent);
    }
    if (ended.reason === "budget_error" && world.budget !== undefined) return { notRun: "budget", usage: spent.usage };
    if (world.signal.aborted) return { notRun: "aborted", usage: spent.usage };
    const durationMs = Math.max(0, world.clock.now() - startedAt);
    const judges = new JudgesOfAttempt(world, definition);
    const record = await recorded(definition, planned, { stage, ended, spent, durationMs, judges });
    if (judges.cut !== undefined) return { notRun: judges.cut, usage: addUsage(spent.usage, judges.usage) };
    return record;
  } finally {
    await closed(stage, world);
  }
}

/** Adds up what all evaluations of an attempt spend, and gives each a run of the journal. */
class Spent {
  readonly #journal: AttemptWorld["journal"];
  readonly runIds: string[] = [];
  usage: Usage = noUsage;
  turns = 0;
  model: string | undefined;

  readonly #inFlight = new Set<Promise<unknown>>();

  constructor(journal: AttemptWorld["journal"]) {
    this.#journal = journal;
  }

  /** Where an evaluation is recorded; empty: nowhere. */
  recorded({ run: own }: Partial<EvaluateOptions> = {}): Pick<EvaluateOptions, "run"> {
    const run = own ?? this.#journal?.run();
    if (run === undefined) return {};
    this.runIds.push(run.id);
    return { run };
  }

  /** Like `add`, for an evaluation that its caller may not wait for. */
  tracked<Output>(evaluating: Promise<PromptResponse<Output>>): Promise<PromptResponse<Output>> {
    const adding = this.add(evaluating);
    this.#inFlight.add(adding);
    const ended = (): boolean => this.#inFlight.delete(adding);
    adding.then(ended, ended);
    return adding;
  }

  /** Resolves when the evaluations that are in flight have settled, as they do when a limit or an abort ends them. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#inFlight);
  }

  async add<Output>(evaluating: Promise<PromptResponse<Output>>): Promise<PromptResponse<Output>> {
    try {
      const response = await evaluating;
      this.usage = addUsage(this.usage, response.usage);
      this.model = response.model;
      return response;
    } catch (error) {
      if (isEvaluationFailure(error)) this.usage = addUsage(this.usage, error.usage);
      throw error;
    }
  }
}

let nothingOpen: Promise<Resources> | undefined;

/** What attempts without resources show their scorers: nothing is in it, so all of them share it. */
function noResources(): Promise<Resources> {
  return (nothingOpen ??= openResources([]));
}

async function staged(definition: AnyDefinition, { row, of }: PlannedAttempt, world: AttemptWorld): Promise<Stage> {
  const { budget, signal, pacing, clock, newId } = world;
  const session = definition.session?.(row.row) ?? createSession({ id: newId() });
  const bounds: Bounds = { clock, signal, ms: definition.timeoutMs ?? defaultTimeoutMs };
  const own = definition.resources && (await openedWithin(bounds, definition.resources(row.row)));
  const events: SessionEvent[] = [];
  session.on("*", (event) => void events.push(event));
  const { overrides, options } = of.settings;
  const given: EvaluateOptions = {
    ...options,
    session,
    ...(own === undefined ? {} : { resources: own }),
    signal,
    deadline: deadlineIn(bounds.ms, clock),
    ...(overrides === undefined ? {} : { overrides }),
    ...(budget === undefined ? {} : { budget }),
    ...(pacing === undefined ? {} : { pacing }),
    ...(definition.messages === undefined ? {} : { messages: definition.messages(row.row) }),
  };
  const close = own && (() => own[Symbol.asyncDispose]());
  return { session, resources: own ?? (await noResources()), close, events, options: given, bounds };
}

async function answered({ row, of }: PlannedAttempt, stage: Stage, spent: Spent): Promise<unknown> {
  const { session, resources, options, bounds } = stage;
  const evaluate = <Output>(
    prompt: Prompt<Output>,
    more: Partial<EvaluateOptions> = {},
  ): Promise<PromptResponse<Output>> =>
    spent.add(of.adapter.evaluate(prompt, { ...options, ...spent.recorded(more), ...more }));
  if ("prompt" in of.subject) return (await evaluate(of.subject.prompt(row.row))).output;
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

async function recorded(
  definition: AnyDefinition,
  planned: PlannedAttempt,
  of: {
    readonly stage: Stage | undefined;
    readonly ended: Ended;
    readonly spent: Spent;
    readonly durationMs: number;
    readonly judges: JudgesOfAttempt;
  },
): Promise<AttemptRecord> {
  const { stage, ended, spent, durationMs, judges } = of;
  const { rowId, variant, repetition, row, subjectHash } = planned;
  const events = stage?.events ?? [];
  const turns = events.filter((event) => event.type === "provider.responded").length;
  const session = stage?.session ?? createSession();
  const resources = stage?.resources ?? (await noResources());
  const base = {
    variant,
    row: row.row,
    rowId,
    repetition,
    events,
    session,
    resources,
    usage: spent.usage,
    turns,
    durationMs,
  };
  const attempt: Attempt | FailedAttempt =
    ended.failure === undefined ? { ...base, output: ended.output } : { ...base, failure: ended.failure };
  const scores = await scoresOf(definition, attempt, judges);
  const redact = redactionOf(definition);
  return {
    rowId,
    variant,
    repetition,
    rowHash: row.hash,
    subjectHash,
    ...(ended.failure === undefined
      ? { status: "answered", output: redact(ended.output) }
      : {
          status: "failed",
          failure: { reason: ended.reason ?? "unknown_error", message: redact(ended.failure.message) },
        }),
    scores: redact(scores),
    usage: spent.usage,
    judgeUsage: judges.usage,
    model: spent.model,
    ...(spent.runIds.length === 0 ? {} : { runIds: spent.runIds }),
    turns,
    durationMs,
  };
}

/** What a close throws changes nothing, nor that it does not end: the attempt is over. */
async function closed(stage: Stage | undefined, { clock }: AttemptWorld): Promise<void> {
  try {
    if (stage?.close !== undefined) await bounded(stage.close(), { clock, ms: closingMs });
  } catch {
    // What was answered and scored stands.
  }
}
