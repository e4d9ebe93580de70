// One attempt of a run, on whichever engine: what it came to, and what the engine does next.
import {
  deadlineAt,
  isEvaluationFailure,
  JournalError,
  ProvisoError,
  RunError,
  type Budget,
  type EvaluationFailure,
  type PromptResponse,
  type PromptTemplate,
  type Session,
} from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import type { Journal, RunState, RunSummary } from "@proviso/journal";
import { lastEntry } from "@proviso/journal/internal";
import { createSession } from "@proviso/runtime";
import { isEmptyEnd, recordedBeginning } from "@proviso/runtime/recording";
import type { RunJob, RunKind } from "./kinds.ts";
import { earlierAttempts, ProgressCount, type RunProgress } from "./progress.ts";

/** A run as a queue keeps it: plain JSON. */
export interface QueuedRun {
  /** The id of the run. */
  readonly id: string;
  readonly params: unknown;
  readonly priority?: number | undefined;
  /** Epoch milliseconds. */
  readonly deadlineAt?: number | undefined;
  readonly budget?: Budget | undefined;
}

/**
 * What an attempt came to. suspended: a decision has to come · again: what failed may pass · stopped: the worker's own
 * signal ended it · lost: another worker has the run. `isInJournal`: whether the journal has this failure as the end of the run.
 */
export type AttemptEnd =
  | { readonly kind: "executed"; readonly response: PromptResponse<unknown> }
  | { readonly kind: "failed"; readonly error: unknown; readonly isInJournal: boolean }
  | { readonly kind: "cancelled"; readonly reason: string | undefined }
  | { readonly kind: "suspended"; readonly error: RunError }
  | {
      readonly kind: "again";
      readonly error: unknown;
      readonly isInJournal: boolean;
      readonly retryAfterMs: number | undefined;
    }
  | { readonly kind: "stopped" }
  | { readonly kind: "lost" };

/** What an attempt needs beside its run. */
export interface AttemptSurroundings {
  readonly journal: Journal;
  /** Ends the attempt; its steps are kept. */
  readonly signal: AbortSignal;
  /** Whether a worker lost the run, which may be alive: its next entry is refused. */
  readonly wasLost?: boolean | undefined;
  /** Whether a failure that may pass ends the run, because it was tried as often as it may be. Default false. */
  readonly isLast?: boolean | undefined;
  readonly report?: ((progress: RunProgress) => void) | undefined;
}

const stateOf: Readonly<Record<AttemptEnd["kind"], RunState>> = {
  executed: "executed",
  failed: "failed",
  cancelled: "cancelled",
  suspended: "suspended",
  again: "open",
  stopped: "open",
  lost: "open",
};

/** Begins the run of the journal, or goes on with it. Never rejects. */
export async function attemptRun(
  kind: RunKind<never, unknown>,
  run: QueuedRun,
  surroundings: AttemptSurroundings,
): Promise<AttemptEnd> {
  const { journal, signal, wasLost = false, report } = surroundings;
  let count: ProgressCount | undefined;
  let end: AttemptEnd;
  let known: RunSummary | undefined;
  try {
    known = await journal.describe(run.id);
    const { session = await sessionOf(run.id, known, journal), ...options } = kind.options?.(jobOf(run)) ?? {};
    if (report !== undefined) {
      const earlier = known && (await earlierAttempts(known, journal));
      count = new ProgressCount(run.id, earlier, session, report);
    }
    const prompt = (kind.prompt as PromptTemplate<unknown, unknown>).bind(run.params);
    const response = await kind.adapter.evaluate(prompt, {
      ...options,
      ...limitsOf(run),
      session,
      signal,
      run: journal.run(run.id, {
        takeOver: wasLost ? "alive" : true,
        staysOpen: (error) => goesOn(error, surroundings),
      }),
    });
    end = { kind: "executed", response };
  } catch (error) {
    if (known === undefined && (await wasBegunMeanwhile(error, run.id, journal))) {
      count?.stop();
      return attemptRun(kind, run, surroundings);
    }
    end = await endOf(error, run.id, known?.attempts ?? 0, surroundings);
  }
  const isGivenUp = end.kind === "again" && surroundings.isLast === true;
  count?.end(
    isGivenUp ? "failed" : stateOf[end.kind],
    end.kind === "lost" ? {} : await recordedProgress(journal, run.id),
  );
  return end;
}

/** How far a run is by its record; empty: it cannot be read. */
async function recordedProgress(journal: Journal, id: string): Promise<Partial<RunProgress>> {
  const described = await journal.describe(id).catch(() => undefined);
  if (described === undefined) return {};
  const { attempts: attempt, steps, usage } = described;
  return { attempt, steps, usage };
}

/** A session whose events can be counted: of a run that goes on, one with the recorded id, which the record fills. */
async function sessionOf(id: string, known: RunSummary | undefined, journal: Journal): Promise<Session> {
  if (known === undefined) return createSession();
  const { session } = await recordedBeginning(journal.replay(id));
  return createSession({ id: session.id });
}

/** Whether another worker began the run after this one had looked: the new session that it was given is not the run's. */
async function wasBegunMeanwhile(error: unknown, id: string, journal: Journal): Promise<boolean> {
  if (!isEvaluationFailure(error) || error.code !== "option" || error.option !== "session") return false;
  return (await journal.describe(id).catch(() => undefined)) !== undefined;
}

/** The run as it was handed in, for the options of its kind. */
function jobOf({ id, priority, deadlineAt: at, budget }: QueuedRun): RunJob {
  return { id, priority, deadline: at === undefined ? undefined : deadlineAt(new Date(at)), budget };
}

function limitsOf(run: QueuedRun): Pick<RunJob, "deadline" | "budget"> {
  const { deadline, budget } = jobOf(run);
  return { ...(deadline !== undefined && { deadline }), ...(budget !== undefined && { budget }) };
}

async function endOf(
  error: unknown,
  id: string,
  attemptsBefore: number,
  { journal, signal }: AttemptSurroundings,
): Promise<AttemptEnd> {
  if (await isCancelled(journal, id)) return { kind: "cancelled", reason: await whyCancelled(journal, id) };
  // An adapter of another copy of core has errors of its own class.
  if (isEvaluationFailure(error) && error.code === "run") {
    if (error.reason === "suspended") return { kind: "suspended", error };
    if (error.reason === "fenced") return { kind: "lost" };
    // A process of this machine has it, or what it did could not be kept.
    if (error.reason === "busy" || error.reason === "journal") {
      return { kind: "again", error, isInJournal: false, retryAfterMs: undefined };
    }
  }
  if (signal.aborted) return { kind: "stopped" };
  const isInJournal = await hasEndOf(journal, id, attemptsBefore);
  if (!isTriedAgain(error)) return { kind: "failed", error, isInJournal };
  const retryAfterMs = isEvaluationFailure(error) && error.code === "throttled" ? error.retryAfterMs : undefined;
  return { kind: "again", error, isInJournal, retryAfterMs };
}

/** Whether the run is evaluated again by itself: it is handed back, or tried again later. */
function goesOn(error: EvaluationFailure, { signal, isLast = false }: AttemptSurroundings): boolean {
  return signal.aborted || (!isLast && isTriedAgain(error));
}

/** Whether the journal has what the last attempt failed with. */
async function hasEndOf(journal: Journal, id: string, attemptsBefore: number): Promise<boolean> {
  try {
    const known = await journal.describe(id);
    if (known?.state !== "failed" || known.attempts === attemptsBefore) return false;
    // An attempt that added nothing leaves what an earlier one came to.
    const last = await lastEntry(journal, id);
    return last === undefined || !isEmptyEnd(last);
  } catch {
    return false;
  }
}

/** Failures of an evaluation that are passed on from what it used: its run goes on when it is evaluated again. */
const passedOn: ReadonlySet<EvaluationFailure["code"]> = new Set(["render", "listener", "internal"]);

/**
 * Whether a queue tries the run again by itself, later: the service or a process failed, the journal could not be read, or
 * another one had what was opened, the lock of a database for example.
 */
function isTriedAgain(error: unknown): boolean {
  if (!isEvaluationFailure(error)) return isBusy(error) || (error instanceof JournalError && error.reason === "failed");
  const { code } = error;
  return code === "throttled" || code === "process" || (passedOn.has(code) && isBusy(error));
}

/** Whether the error, or what caused it, says that another one has what was asked for. */
function isBusy(error: unknown): boolean {
  const seen = new Set<unknown>();
  for (let at = error; at instanceof Error && !seen.has(at); at = at.cause) {
    if (at instanceof ProvisoError && (at as { readonly reason?: unknown }).reason === "busy") return true;
    seen.add(at);
  }
  return false;
}

async function isCancelled(journal: Journal, id: string): Promise<boolean> {
  try {
    return (await journal.describe(id))?.state === "cancelled";
  } catch {
    // What a damaged record says is not believed, and the error of the attempt says more.
    return false;
  }
}

/** undefined: no reason was given, or none can be read. */
async function whyCancelled(journal: Journal, id: string): Promise<string | undefined> {
  const last = await lastEntry(journal, id).catch(() => undefined);
  return last?.kind === "cancelled" ? last.reason : undefined;
}

/** What an attempt failed with, for a person. */
export function failureOf(error: unknown): string {
  return messageOf(error);
}

/** Milliseconds before the next attempt: 1 s, doubled to 60 s, or what the service asked for where that is longer. */
export function waitBeforeAttempt(failures: number, retryAfterMs: number | undefined): number {
  return Math.max(Math.min(1_000 * 2 ** Math.min(failures - 1, 6), 60_000), retryAfterMs ?? 0);
}
