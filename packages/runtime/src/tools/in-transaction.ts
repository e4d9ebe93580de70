// Calls that were prepared, in one transaction: announced, run, undone where they fail, recorded, answered.
import type { RejectedParams, ToolCall, ToolMessage, ToolResult } from "@proviso/core";
import { messageOf, after, allOf } from "@proviso/core/internal";
import { elapsedMs } from "../environment.ts";
import { isFailure, type Failure } from "../failures.ts";
import type { Run } from "../run.ts";
import { rollback, undoInSession } from "../transactions/ending.ts";
import type { NotBegun, Transaction } from "../transactions/transaction.ts";
import { beginCalls, beginEach } from "./begin.ts";
import { endInside, endRecorded } from "./end-recorded.ts";
import type { Accepted, Invocation, Watched } from "./invocation.ts";
import { orderResults, stoppedLast } from "./order.ts";
import { invoke, requestedEvent } from "./run-call.ts";
import { withFeedback } from "./feedback.ts";
import { toolMessage, failed } from "./result.ts";
import { recordCall } from "./recording.ts";

export type Prepared = Accepted | Invocation;

/** What came of a turn's calls: the model's answers, and the limit that ended the evaluation meanwhile. */
export interface TurnOutcome {
  readonly answers: readonly ToolMessage[];
  readonly stop: Failure | undefined;
}

export function announceAccepted(run: Run, { call, announced }: Accepted): void {
  if (announced === undefined) run.publish(requestedEvent(run, call));
  else run.core.reduceAgain(announced);
}

/** A limit may have passed since the call was prepared, or a listener may have aborted at the call before it. */
function announceUnlessStopped(run: Run, accepted: Accepted): Prepared {
  const stop = run.limits.stopped("tool");
  if (stop !== undefined) return notRun(accepted.call, stop);
  announceAccepted(run, accepted);
  return accepted;
}

/** A call that was recorded when it ended, before those in front of it. */
interface Recorded extends Invocation {
  readonly recorded: ToolResult;
}

/** A call that was undone when it ended, and is recorded behind the others. */
interface Undone extends Invocation {
  readonly isUndone: true;
}

type Ended = Invocation | Recorded | Undone;

export function runInTransaction(
  run: Run,
  calls: readonly ToolCall[],
  prepared: readonly Prepared[],
  watched: Watched,
  startedAt: number,
): TurnOutcome | Promise<TurnOutcome> {
  const accepted = prepared.filter((each) => "tool" in each);
  if (accepted.length === 0)
    return recordAndAnswer(run, calls, prepared as readonly Invocation[], noTransaction, startedAt);
  return after(beginCalls(run, accepted, watched.policies), (transaction) => {
    if (!("holds" in transaction)) {
      const invocations = prepared.map((each) => ("tool" in each ? notRun(each.call, transaction) : each));
      return recordAndAnswer(run, calls, invocations, noTransaction, startedAt);
    }
    const batch = { run, calls, prepared, watched, startedAt, transaction, ended: [] };
    return accepted.length === 1
      ? runBegun(batch, noOwn)
      : beginEach(run, accepted, transaction).then((own) => runBegun(batch, own));
  });
}

/** Calls whose transaction has begun. */
interface Batch {
  readonly run: Run;
  readonly calls: readonly ToolCall[];
  readonly prepared: readonly Prepared[];
  readonly watched: Watched;
  readonly startedAt: number;
  readonly transaction: Transaction;
  /** The transactions inside the common one that have ended: what outlives the process is committed with the last of them. */
  readonly ended: Transaction[];
}
/** The transactions that calls have inside the common one. */
type OwnTransactions = Map<ToolCall, Transaction>;

const noOwn: OwnTransactions = new Map();
const noTransaction = (): undefined => undefined;

function runBegun(batch: Batch, own: OwnTransactions): TurnOutcome | Promise<TurnOutcome> {
  const before = batch.run.toolResults.length;
  let working: TurnOutcome | Promise<TurnOutcome>;
  try {
    working = runCalls(batch, own);
  } catch (cause) {
    working = Promise.reject(cause);
  }
  if (working instanceof Promise || batch.calls.length > 1) return endAfter(working, batch, own, before);
  batch.run.observing?.changed(batch.transaction, false);
  const ending = endRecorded(batch.run, batch.transaction);
  return ending === undefined ? working : ending.then(() => working);
}

/** Ends the transactions, whatever comes of the calls. */
async function endAfter(
  working: TurnOutcome | Promise<TurnOutcome>,
  batch: Batch,
  own: OwnTransactions,
  before: number,
): Promise<TurnOutcome> {
  const { run, calls, transaction, ended } = batch;
  try {
    return await working;
  } catch (cause) {
    // Not even a fault of ours commits half a call, or undoes one that is recorded.
    const recorded = new Set(run.toolResults.slice(before).map(({ callId }) => callId));
    const unrecorded = calls.filter(({ id }) => !recorded.has(id));
    await undo(batch, unrecorded, own);
    throw cause;
  } finally {
    if (calls.length > 1) {
      run.tape?.stops(run);
      orderResults(run.toolResults, before, calls);
    }
    for (const each of own.values()) {
      run.observing?.changed(each, false);
      await endInside(run, each, ended);
    }
    run.observing?.changed(transaction, false);
    const ending = endRecorded(run, transaction);
    if (ending !== undefined) await ending;
    for (const each of ended) await run.tape?.committed(run, each);
  }
}

function runCalls(batch: Batch, own: OwnTransactions): TurnOutcome | Promise<TurnOutcome> {
  const { run, calls, prepared, watched, startedAt, transaction } = batch;
  const transactionOf = (call: ToolCall): Transaction => own.get(call) ?? transaction;
  if (calls.length > 1) run.tape?.callsOverlap(run);
  const begun = prepared.map((each) => ("tool" in each ? announceUnlessStopped(run, each) : each));
  const invoking = allOf(
    begun.map((each) => {
      if ("result" in each) return each;
      const invoked = invoke(run, each, transactionOf(each.call), watched);
      // Calls beside each other are recorded together, when the slowest has ended.
      const invocation = calls.length === 1 ? invoked : after(invoked, (ended) => timed(run, ended, startedAt));
      return own.size === 0 ? invocation : endEarly(batch, each.call, invocation, own);
    }),
  );
  return after(invoking, (ended) => {
    const invocations = ended as readonly Ended[];
    const undone = calls.filter((_, index) => isToUndo(invocations[index]));
    const undoing = undone.length === 0 ? undefined : undo(batch, undone, own);
    return after(undoing, () => recordAndAnswer(run, calls, invocations, transactionOf, startedAt));
  });
}

function timed(run: Run, ended: Prepared, startedAt: number): Prepared {
  return "result" in ended ? { ...ended, durationMs: elapsedMs(run.world.clock, startedAt) } : ended;
}

/** A call that was refused has done nothing in a resource: what evaluations inside others did there stands. */
async function undo(batch: Batch, calls: readonly ToolCall[], own: OwnTransactions): Promise<void> {
  const { run, prepared, transaction } = batch;
  const accepted = new Set(batch.calls.filter((_, place) => "tool" in (prepared[place] as Prepared)));
  const refused = calls.filter((call) => !accepted.has(call));
  if (refused.length > 0) undoInSession(transaction, idsOf(refused));
  const ran = calls.filter((call) => accepted.has(call));
  for (const [each, failing] of Map.groupBy(ran, (call) => own.get(call) ?? transaction)) {
    const ids = idsOf(failing);
    run.observing?.changed(each, true, [...ids]);
    await rollback(each, ids);
  }
}

function idsOf(calls: readonly ToolCall[]): ReadonlySet<string> {
  return new Set(calls.map(({ id }) => id));
}

function isToUndo(invocation: Ended | undefined): boolean {
  if (invocation === undefined || "recorded" in invocation || "isUndone" in invocation) return false;
  return !invocation.result.success;
}

/**
 * A call that overlaps with others, and holds what evaluations inside it have used, ends when its handler has: another one
 * may evaluate then. The others end together, in the model's order; one that ends the evaluation is recorded behind them.
 */
async function endEarly(
  { run, startedAt, ended }: Batch,
  call: ToolCall,
  invoking: Prepared | Promise<Prepared>,
  own: Map<ToolCall, Transaction>,
): Promise<Prepared | Recorded | Undone> {
  const invocation = await invoking;
  const transaction = own.get(call);
  if (!("result" in invocation) || transaction === undefined || transaction.holds.length === 0) return invocation;
  own.delete(call);
  try {
    if (!invocation.result.success) {
      run.observing?.changed(transaction, true);
      await rollback(transaction, new Set([call.id]));
    }
    if (invocation.stop !== undefined) return { ...invocation, isUndone: true };
    return { ...invocation, recorded: await recordCall(run, call, invocation, transaction, startedAt) };
  } finally {
    run.observing?.changed(transaction, false);
    await endInside(run, transaction, ended);
  }
}

export function recordAlone(
  run: Run,
  call: ToolCall,
  invocation: Invocation,
  startedAt: number,
): TurnOutcome | Promise<TurnOutcome> {
  return recordAndAnswer(run, [call], [invocation], noTransaction, startedAt);
}

/** Answers a call whose handler was not run, because the call could not get its locks and snapshots. */
export function notRun(call: ToolCall, why: NotBegun): Invocation {
  const message = `Not run: ${isFailure(why) ? why.message : messageOf(why.error)}`;
  const params: RejectedParams = { rawArguments: String(call.arguments), error: message };
  return { params, result: failed(message), stop: isFailure(why) ? why : undefined };
}

/**
 * Records and answers each call, in the model's order, those that a limit stopped behind the others; at once where nothing
 * has to be waited for.
 */
function recordAndAnswer(
  run: Run,
  calls: readonly ToolCall[],
  invocations: readonly Ended[],
  transactionOf: (call: ToolCall) => Transaction | undefined,
  startedAt: number,
): TurnOutcome | Promise<TurnOutcome> {
  const stop = invocations.find((each) => each.stop !== undefined)?.stop;
  const answers: ToolMessage[] = [];
  const order = stop === undefined || calls.length === 1 ? undefined : stoppedLast(invocations);
  const answerFrom = (first: number): TurnOutcome | Promise<TurnOutcome> => {
    for (let next = first; next < calls.length; next++) {
      const place = order?.[next] ?? next;
      const call = calls[place] as ToolCall;
      const invocation = invocations[place] as Ended;
      if (invocation.stop !== undefined) run.tape?.stops(run, invocation.stop);
      const answering = answered(run, call, invocation, transactionOf(call), startedAt);
      if (!(answering instanceof Promise)) answers[place] = answering;
      else {
        return answering.then((answer) => {
          answers[place] = answer;
          return answerFrom(next + 1);
        });
      }
    }
    return { answers, stop };
  };
  return answerFrom(0);
}

function answered(
  run: Run,
  call: ToolCall,
  invocation: Ended,
  transaction: Transaction | undefined,
  startedAt: number,
): ToolMessage | Promise<ToolMessage> {
  const withOthers = (result: ToolResult): ToolMessage | Promise<ToolMessage> => {
    const message = toolMessage(call, result, run.context?.longestResult, run.world.secrets);
    return run.rendered.feedback.length === 0 ? message : withFeedback(run, call, message, transaction);
  };
  if ("recorded" in invocation) return withOthers(invocation.recorded);
  const record = (): ToolMessage | Promise<ToolMessage> =>
    after(recordCall(run, call, invocation, transaction, startedAt), withOthers);
  return run.tape === undefined ? record() : run.tape.keeping(run, { call, ...invocation }, record);
}
