// Attempts that are made by other processes: what a job is, who makes it, and what comes back.
import {
  DefinitionError,
  systemClock,
  trackBudget,
  type Budget,
  type BudgetTracker,
  type Clock,
  type EvaluateOptions,
  type Usage,
} from "@proviso/core";
import { addUsage, noUsage } from "@proviso/core/internal";
import type { Environment } from "@proviso/runtime";
import { systemId } from "@proviso/runtime/internal";
import { sharedPacing } from "@proviso/runtime/routing";
import { canBeReadAgain, namedRows, ordered, type NamedRow } from "../data/rows.ts";
import { definitionOf, variantsOf, type AnyDefinition } from "../define/define-eval.ts";
import type { Eval } from "../definition.ts";
import type { AttemptKey, AttemptRecord, Fingerprint } from "../results.ts";
import { attempted, type AttemptWorld, type NotRun, type PlannedAttempt } from "./attempt.ts";
import { bounded, boundsOf, closingMs, Unsettled } from "../bounded.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { keyFields, plannedAttempts } from "./planning.ts";
import { ownField } from "../own-field.ts";

/** An attempt that another process makes. */
export interface AttemptJob {
  /** The name of the eval. */
  readonly eval: string;
  /** What the run is about: a worker with another definition refuses the job. */
  readonly fingerprint: Fingerprint;
  /** The attempt. */
  readonly key: AttemptKey;
  /** The content of its row: a worker with another one refuses the job. */
  readonly rowHash: string;
  /** What its model is shown first: a worker that shows another prompt refuses the job. */
  readonly subjectHash: string;
  /** What is left for it; undefined: there is no limit. */
  readonly budget: Budget | undefined;
}

/** Makes attempts somewhere else. */
export interface AttemptWorkers {
  /**
   * Resolves with what came of the attempt; rejects only where it could not be made at all. The signal is that of the whole
   * run: after it fires, a failed attempt says what was spent until then.
   */
  run(job: AttemptJob, signal: AbortSignal): Promise<AttemptRecord>;
  /** Ends the use of the workers. The run that they were given to calls it. */
  close(): Promise<void>;
}

/** Does the work, and closes the workers after it. Those that do not close in time are left alone. */
export async function withWorkers<T>(
  { workers, signal }: { readonly workers?: AttemptWorkers | undefined; readonly signal?: AbortSignal | undefined },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } finally {
    if (workers !== undefined) {
      const bounds = { clock: systemClock, signal, ms: closingMs };
      await bounded(workers.close(), bounds, () => systemClock.sleep(answeringMs)).catch(unlessUnsettled);
    }
  }
}

/** Milliseconds that workers have after an abort, to say what they spent or to close. */
const answeringMs = 1_000;

function unlessUnsettled(error: unknown): void {
  if (!(error instanceof Unsettled)) throw error;
}

/** Makes the attempt here, or has workers make it. */
export function makeAttempt(
  of: {
    readonly definition: AnyDefinition;
    readonly fingerprint: Fingerprint;
    readonly options: { readonly workers?: AttemptWorkers | undefined };
  },
  planned: PlannedAttempt,
  world: AttemptWorld,
): Promise<AttemptRecord | NotRun> {
  const { workers } = of.options;
  return workers === undefined ? attempted(of.definition, planned, world) : handedOut(of, workers, planned, world);
}

async function handedOut(
  { definition, fingerprint }: { readonly definition: AnyDefinition; readonly fingerprint: Fingerprint },
  workers: AttemptWorkers,
  planned: PlannedAttempt,
  { budget, signal, clock }: AttemptWorld,
): Promise<AttemptRecord | NotRun> {
  const key = keyFields(planned);
  try {
    const left = budget === undefined ? undefined : leftOf(budget);
    // What is left may have been spent since the attempt was found to fit.
    if (left === "nothing") return { notRun: "budget", usage: noUsage };
    // How long a job waits for a worker is not known: the run's own limits end that.
    const bounds = { clock, signal, ms: left?.deadline?.remainingMs() ?? Infinity };
    const { subjectHash, row } = planned;
    const job = { eval: definition.name, fingerprint, key, rowHash: row.hash, subjectHash, budget: left };
    const running = workers.run(job, signal);
    const record = await bounded(running, bounds, () => systemClock.sleep(answeringMs));
    const usage = addUsage(record.usage, record.judgeUsage);
    budget?.reserve({ inputTokens: 0, outputTokens: 0 })?.settle(usage);
    if (record.failure?.reason === "budget_error" && budget !== undefined) return { notRun: "budget", usage };
    if (record.status === "failed" && signal.aborted) return { notRun: "aborted", usage };
    if (record.rowHash === planned.row.hash && record.subjectHash === planned.subjectHash) return record;
    const message = `A worker answered the attempt ${key.rowId} of ${key.variant} with another row or prompt: ${record.subjectHash} is not ${planned.subjectHash}. Give both processes the same definition.`;
    return { notRun: "refused", message, usage };
  } catch (error) {
    if (signal.aborted) return { notRun: "aborted", usage: noUsage };
    if (error instanceof Unsettled) return { notRun: "budget", usage: noUsage };
    return { notRun: "refused", message: (error as Error).message, usage: noUsage };
  }
}

/** The limits that are left: one attempt may spend no more. "nothing": one of them is used up, and no budget says that. */
function leftOf(tracker: BudgetTracker): Budget | "nothing" {
  const { totalTokens, inputTokens, outputTokens, costUsd } = tracker.remaining();
  if (Math.min(totalTokens, inputTokens, outputTokens, costUsd) <= 0) return "nothing";
  const limit = (left: number): number | undefined => (left < Infinity ? left : undefined);
  return {
    maxTotalTokens: limit(totalTokens),
    maxInputTokens: limit(inputTokens),
    maxOutputTokens: limit(outputTokens),
    maxCostUsd: limit(costUsd),
    deadline: tracker.budget.deadline,
  };
}

/** What a process has that makes attempts for others. */
export interface ServingOptions extends Pick<Environment, "clock" | "random" | "newId"> {
  /** The pace of requests, or "off". Default: learnt in this process for each adapter and model. */
  readonly pacing?: EvaluateOptions["pacing"];
}

/** What is known of an eval. */
interface Served {
  readonly fingerprint: Fingerprint;
  readonly attempts: ReadonlyMap<string, PlannedAttempt>;
}

/**
 * Returns the function that makes an attempt of one of these evals. It rejects with a DefinitionError for an eval that is
 * not there, or that is another one here. What an abort cuts short is a failed attempt, with what it spent.
 * @throws {DefinitionError} for no evals, or two of one name.
 */
export function attemptServer(
  evals: readonly Eval[],
  { clock = systemClock, newId = systemId, random, pacing }: ServingOptions,
): AttemptWorkers["run"] {
  const served = new Map<string, ServedEval>();
  if (evals.length === 0) throw new DefinitionError("A worker needs at least one eval.");
  for (const of of evals) {
    const definition = definitionOf(of);
    const { name } = definition;
    if (served.has(name)) throw new DefinitionError(`Two evals have the name "${name}".`);
    served.set(name, new ServedEval(definition, clock));
  }
  const pace = pacing ?? sharedPacing({ clock, ...(random === undefined ? {} : { random }) });
  return async (job, signal) => {
    const of = served.get(job.eval);
    if (of === undefined) throw new DefinitionError(`A worker has no eval "${job.eval}": give it to serveAttempts.`);
    const { definition, planned } = await of.attemptOf(job);
    const budget = job.budget === undefined ? undefined : trackerOf(job.budget);
    const world: AttemptWorld = { clock, newId, budget, signal, pacing: pace, given: new Map() };
    const made = await attempted(definition, planned, world);
    if (!("notRun" in made)) return made;
    if (made.notRun === "budget") return cutShort(planned, made.usage, byBudget);
    return cutShort(planned, made.usage, byAbort);
  };
}

/** An eval as a worker has it. It is planned with the first job, and again where a job is of another plan. */
class ServedEval {
  readonly #definition: AnyDefinition;
  readonly #clock: Clock;
  #rows: readonly NamedRow<object>[] | undefined;
  #known: Promise<Served> | undefined;

  constructor(definition: AnyDefinition, clock: Clock) {
    this.#definition = definition;
    this.#clock = clock;
  }

  /** @throws {DefinitionError} for a job of another definition, before anything is asked. */
  async attemptOf(job: AttemptJob): Promise<{ readonly definition: AnyDefinition; readonly planned: PlannedAttempt }> {
    const planning = (this.#known ??= this.#plan());
    let found = attemptIn(await planning, job);
    if ("fault" in found) {
      // Rows and stored overrides may have changed since it was planned.
      if (this.#known === planning) this.#known = this.#plan();
      found = attemptIn(await (this.#known ??= this.#plan()), job);
    }
    if ("fault" in found) throw new DefinitionError(found.fault);
    return { definition: this.#definition, planned: found };
  }

  /** What cannot be read now is read again with the next job. */
  #plan(): Promise<Served> {
    const planning = this.#served();
    planning.catch(() => {
      if (this.#known === planning) this.#known = undefined;
    });
    return planning;
  }

  async #served(): Promise<Served> {
    const definition = this.#definition;
    const variants = variantsOf(definition);
    const bounds = boundsOf({ clock: this.#clock }, definition.timeoutMs);
    if (this.#rows === undefined || canBeReadAgain(definition.data)) {
      this.#rows = ordered(await namedRows(definition.data, definition, bounds), 1);
    }
    const rows = this.#rows;
    const fingerprint = fingerprintOf(definition, rows, variants);
    const planned = await plannedAttempts(definition, rows, variants, fingerprint, bounds);
    return { fingerprint, attempts: new Map(planned.map((each) => [keyText(each), each])) };
  }
}

function attemptIn(served: Served, job: AttemptJob): PlannedAttempt | { readonly fault: string } {
  const planned = served.attempts.get(keyText(job.key)) ?? repeatedAttempt(served, job.key);
  if (planned === undefined) {
    const { variant, rowId } = job.key;
    return {
      fault: `A worker's eval "${job.eval}" has no row "${rowId}" of the variant "${variant}": give both processes the same definition.`,
    };
  }
  const fault = faultOf(served, job, planned);
  return fault === undefined ? planned : { fault };
}

function keyText({ rowId, variant, repetition }: AttemptKey): string {
  return JSON.stringify([rowId, variant, repetition]);
}

/** A run may ask for more repetitions than the definition has. */
function repeatedAttempt({ attempts }: Served, key: AttemptKey): PlannedAttempt | undefined {
  const first = attempts.get(keyText({ ...key, repetition: 1 }));
  return first === undefined ? undefined : { ...first, repetition: key.repetition };
}

/** Why the job is of another definition. A run of a part has other rows in all: its row is compared alone. */
function faultOf(known: Served, job: AttemptJob, planned: PlannedAttempt): string | undefined {
  const { variant, rowId } = job.key;
  const [here, there] = [known.fingerprint, job.fingerprint];
  const differ = (what: string, a = "none", b = "none"): string | undefined =>
    a === b
      ? undefined
      : `A worker has another ${what} of the eval "${job.eval}" than the run: ${a} and ${b}. Start it with the same definition.`;
  const names = new Set([...Object.keys(here.scorers), ...Object.keys(there.scorers)]);
  for (const name of names) {
    const fault = differ(`scorer "${name}"`, ownField(here.scorers, name), ownField(there.scorers, name));
    if (fault !== undefined) return fault;
  }
  return (
    differ(`variant "${variant}"`, ownField(here.variants, variant), ownField(there.variants, variant)) ??
    differ(`row "${rowId}"`, planned.row.hash, job.rowHash) ??
    differ(`prompt for the row "${rowId}" of the variant "${variant}"`, planned.subjectHash, job.subjectHash)
  );
}

function trackerOf(budget: Budget): BudgetTracker | undefined {
  const { deadline, ...limits } = budget;
  const hasLimit = Object.values(limits).some((limit) => limit !== undefined);
  if (!hasLimit && deadline === undefined) return undefined;
  return trackBudget(hasLimit ? budget : { maxTotalTokens: Number.MAX_SAFE_INTEGER, deadline });
}

const byBudget = { reason: "budget_error", message: "The budget of the run is spent." } as const;
const byAbort = { reason: "aborted_error", message: "The run or its worker has ended." } as const;

/** The run's budget or an abort ended it: the run counts what was spent, and keeps no record. */
function cutShort(
  { row, rowId, variant, repetition, subjectHash }: PlannedAttempt,
  usage: Usage,
  failure: NonNullable<AttemptRecord["failure"]>,
): AttemptRecord {
  return {
    rowId,
    variant,
    repetition,
    rowHash: row.hash,
    subjectHash,
    status: "failed",
    failure,
    scores: {},
    usage,
    judgeUsage: noUsage,
    model: undefined,
    turns: 0,
    durationMs: 0,
  };
}
