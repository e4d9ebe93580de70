import { DefinitionError, type Budget, type PolicyDecision, type ToolReturn } from "@proviso/core";
import { describeValue, toJsonValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import type { Journal } from "@proviso/journal";
import { wasDecidedSo } from "@proviso/journal/internal";
import {
  RetryableError,
  TerminalError,
  workflow,
  type WorkflowContext,
  type WorkflowDefinition,
  type WorkflowSharedContext,
} from "@restatedev/restate-sdk";
import { attemptRun, failureOf, type AttemptEnd } from "./attempt.ts";
import { keptBudget } from "./kept-budget.ts";
import { kindsByName, type RunKind } from "./kinds.ts";
import type { SuspendedRun } from "./queue.ts";

/** What `restateRuns` takes. */
export interface RestateOptions {
  /** What the runs are kept in: the same for all endpoints of the service. */
  readonly journal: Journal;
  /** The name of the service. Default "proviso". */
  readonly name?: string | undefined;
  /** How often a run is taken up again after a failure that may pass, with waits of 1 s, doubled to 60 s. Default 10. */
  readonly maxAttempts?: number | undefined;
  /**
   * Gets the token of each run that waits for a decision, to send it to a person. What it throws makes Restate ask again.
   * Left out: no one gets it.
   */
  readonly onSuspended?: ((suspended: SuspendedRun) => void | Promise<void>) | undefined;
}

/** What the handler `run` of the service takes; its workflow's key is the id of the run. */
export interface RestateRun {
  /** The name of the prompt. */
  readonly prompt: string;
  /** The params, plain JSON. Left out: none. */
  readonly params?: unknown;
  /** The moment by which it has ended, in epoch milliseconds. Default: none. */
  readonly deadlineAt?: number | undefined;
  /** The budget of all of its attempts together; as JSON its deadline is `{ "expiresAt": "2030-01-31T12:00:00Z" }`. Default: none. */
  readonly budget?: Budget | undefined;
}

/** What the handler `run` answers with. The journal has all else: events, session, usage. */
export interface RestateAnswer {
  /** The output as plain JSON; left out where it is none. */
  readonly output?: unknown;
  /** The text of the answer; left out where there is none. */
  readonly text?: string | undefined;
}

/** What the handler `resolve` takes. */
export interface RestateDecision {
  /** The token that `onSuspended` got. */
  readonly token: string;
  /** `allow()`, `deny(reason)`, or what the call came to elsewhere. */
  readonly decision: PolicyDecision | { readonly result: ToolReturn<unknown> };
}

/** The handlers of the service. */
export interface RestateHandlers {
  /** Evaluates the run of the workflow's key, and waits out its suspensions. */
  run(context: WorkflowContext, run: RestateRun): Promise<RestateAnswer>;
  /** Decides what the run waits for, as `journal.resolve`, and lets it go on. */
  resolve(context: WorkflowSharedContext, decision: RestateDecision): Promise<void>;
  /** Ends the run for good, as `journal.cancel`. false: it had ended. */
  cancel(context: WorkflowSharedContext, given: { readonly reason?: string | undefined }): Promise<boolean>;
}

const optionNames = { journal: true, name: true, maxAttempts: true, onSuspended: true } as const;
/** Restate calls a step anew that is silent for so long: an evaluation may take its time. */
const longestStepMs = 24 * 3_600_000;

/** What one durable step came to. */
type Step =
  | { readonly kind: "executed"; readonly answer: RestateAnswer }
  | { readonly kind: "failed" | "cancelled"; readonly message: string }
  | { readonly kind: "suspended"; readonly expiresAt: number | null; readonly decisions: number };

/**
 * Makes a workflow for `restate.serve({ services: [...] })`, whose key is the id of the run. One durable step surrounds each
 * attempt, and a durable promise waits for each decision; inside a step the journal alone decides what is done again.
 * @throws {DefinitionError} for options that cannot be, no kinds, or two of one prompt name.
 */
export function restateRuns(
  kinds: readonly RunKind<never, unknown>[],
  options: RestateOptions,
): WorkflowDefinition<string, RestateHandlers> {
  checkOptionNames("restateRuns", options, optionNames);
  const { journal, name = "proviso", maxAttempts = 10, onSuspended } = options;
  checkValues(journal, maxAttempts);
  const byName = kindsByName(kinds);
  const retries = {
    initialRetryInterval: 1_000,
    maxRetryInterval: 60_000,
    retryIntervalFactor: 2,
    // Restate counts the first attempt, too.
    maxRetryAttempts: maxAttempts + 1,
  };
  const step = async (id: string, run: RestateRun, signal: AbortSignal): Promise<Step> => {
    const kind = byName.get(run.prompt);
    if (kind === undefined) {
      throw new TerminalError(`The service has no kind with the prompt "${run.prompt}": give it to restateRuns.`);
    }
    const { params = {}, deadlineAt } = run;
    const queued = { id, params, deadlineAt, budget: keptBudget(run.budget) };
    // Restate calls one step at a time: an older one that still runs has lost its run.
    const end = await attemptRun(kind, queued, { journal, signal, wasLost: true });
    if (end.kind !== "suspended") return stepOf(end);
    // Counted before the question is out: from then on a decision may come.
    const decisions = await decisionsIn(journal, id);
    const { pending } = end.error;
    if (pending !== undefined) await onSuspended?.({ id, pending });
    return { kind: "suspended", expiresAt: pending?.expiresAt?.getTime() ?? null, decisions };
  };
  return workflow({
    name,
    handlers: {
      async run(context: WorkflowContext, run: RestateRun): Promise<RestateAnswer> {
        const { attemptCompletedSignal: signal } = context.request();
        for (let waits = 0; ; waits++) {
          const came = await context.run(`attempt ${waits}`, () => step(context.key, run, signal), retries);
          if (came.kind === "executed") return came.answer;
          if (came.kind !== "suspended") throw new TerminalError(came.message);
          await decided(context, came);
        }
      },
      async resolve(context: WorkflowSharedContext, { token, decision }: RestateDecision): Promise<void> {
        const { key } = context;
        const before = await context.run("decisions", () => decisionsIn(journal, key));
        const place = await context.run("resolve", () => resolved(journal, key, { token, decision, before }));
        await letGoOn(context, place);
      },
      async cancel(context: WorkflowSharedContext, given: { readonly reason?: string | undefined }): Promise<boolean> {
        const { key } = context;
        const wasCancelled = await context.run("before", () => isCancelledIn(journal, key));
        const isCancelled = await context.run("cancel", async () => {
          // A step that Restate calls again may have cancelled it already.
          return (await journal.cancel(key, given?.reason)) || isCancelledIn(journal, key);
        });
        const before = await context.run("decisions", () => decisionsIn(journal, key));
        if (isCancelled) await letGoOn(context, before);
        return isCancelled && !wasCancelled;
      },
    },
    options: { inactivityTimeout: longestStepMs },
  });
}

function checkValues(journal: Journal, maxAttempts: number): void {
  if (typeof journal?.describe !== "function") {
    throw new DefinitionError(`restateRuns needs a journal, not ${describeValue(journal)}.`);
  }
  if (!Number.isSafeInteger(maxAttempts) || maxAttempts < 1) {
    throw new DefinitionError(
      `restateRuns: maxAttempts must be a whole number, 1 or more, not ${describeValue(maxAttempts)}.`,
    );
  }
}

/**
 * The name of a decision is the number of those that were made before. The record has it, so `resolve` knows it however
 * soon it is called after the question.
 */
function decisionName(before: number): string {
  return `decision ${before}`;
}

async function decisionsIn(journal: Journal, id: string): Promise<number> {
  let count = 0;
  for await (const { kind } of journal.entries(id)) if (kind === "resolved") count++;
  return count;
}

/** Resolves when the decision is there, or when it cannot come any more. */
async function decided(
  context: WorkflowContext,
  { expiresAt, decisions }: Extract<Step, { readonly kind: "suspended" }>,
): Promise<void> {
  const decision = context.promise<boolean>(decisionName(decisions)).get();
  if (expiresAt === null) return void (await decision);
  const leftMs = await context.date.now().then((now) => Math.max(0, expiresAt - now));
  // A step later the run finds the decision expired, and counts it as denied.
  await decision.orTimeout(leftMs + 1).catch((error: unknown) => {
    if (!(error instanceof TerminalError)) throw error;
  });
}

async function isCancelledIn(journal: Journal, id: string): Promise<boolean> {
  return (await journal.describe(id))?.state === "cancelled";
}

/** Lets the run go on that waits for a decision. One that went on already stays as it is. */
async function letGoOn(context: WorkflowSharedContext, place: number): Promise<void> {
  const decision = context.promise<boolean>(decisionName(place));
  if ((await decision.peek()) === undefined) await decision.resolve(true);
}

/**
 * Keeps a decision, and returns its place. A step that Restate calls again may have kept it already, and so may an earlier call
 * with the same decision: the run is let go on all the same.
 */
async function resolved(
  journal: Journal,
  id: string,
  { token, decision, before }: RestateDecision & { readonly before: number },
): Promise<number> {
  try {
    await journal.resolve(token, decision);
    return before;
  } catch (error) {
    if ((error as { readonly reason?: unknown }).reason !== "token") throw error;
    if ((await decisionsIn(journal, id)) > before) return before;
    // What was decided last is what a run waits for, if it waits for any that is kept.
    if (await wasDecidedSo(journal, token, decision).catch(() => false)) return before - 1;
    throw new TerminalError(failureOf(error));
  }
}

/** @throws {RetryableError} for what may pass. */
function stepOf(end: Exclude<AttemptEnd, { readonly kind: "suspended" }>): Step {
  switch (end.kind) {
    case "executed": {
      const { output, text } = end.response;
      const plain = toJsonValue(output);
      return {
        kind: "executed",
        answer: { ...(plain && { output: plain.value }), ...(typeof text === "string" && { text }) },
      };
    }
    case "failed":
      return { kind: "failed", message: failureOf(end.error) };
    case "cancelled":
      return {
        kind: "cancelled",
        message: end.reason === undefined ? "The run was cancelled." : `The run was cancelled: ${end.reason}`,
      };
    case "again": {
      const { retryAfterMs } = end;
      throw new RetryableError(failureOf(end.error), retryAfterMs === undefined ? {} : { retryAfter: retryAfterMs });
    }
    case "stopped":
    case "lost":
      throw new RetryableError("The step was ended: another one goes on with the run.");
  }
}
