import type {
  AssistantMessage,
  RejectedParams,
  ToolCall,
  ToolInvoked,
  ToolMessage,
  ToolPolicy,
  ToolResult,
} from "@proviso/core";
import { isThenable } from "@proviso/core/internal";
import { internalFailure, isFailure, messageOf, type Failure } from "../failures.ts";
import type { Run } from "../run.ts";
import { endTransaction, rollback } from "../transactions/ending.ts";
import type { NotBegun, Transaction } from "../transactions/transaction.ts";
import { batchesOf } from "./batches.ts";
import { beginCalls, beginEach } from "./begin.ts";
import { announceCall, invoke, prepare, type Accepted, type Invocation, type Watched } from "./call.ts";
import { withFeedback } from "./feedback.ts";
import { answersAfter, toolMessage } from "./message.ts";
import { askForApproval, policiesFor } from "./policies.ts";
import { recordCall } from "./recording.ts";
import { failed, jsonOf } from "./result.ts";

/** What came of a turn's calls: the model's answers, and the limit that ended the evaluation meanwhile. */
export interface TurnOutcome {
  readonly answers: readonly ToolMessage[];
  readonly stop: Failure | undefined;
}

/**
 * One batch after another in the model's order; every call is answered, whatever happens. `passed` is a limit that
 * was met already: nothing is run then.
 */
export async function executeToolCalls(run: Run, message: AssistantMessage, passed?: Failure): Promise<TurnOutcome> {
  const answers: ToolMessage[] = [];
  let stop: Failure | undefined = passed === undefined ? run.limits.stopped("tool") : { ...passed, phase: "tool" };
  for (const calls of batchesOf(run, message.toolCalls)) {
    if (stop !== undefined) {
      const result = failed(`Not run: ${stop.message}`);
      for (const call of calls) answers.push(toolMessage(call, result));
      continue;
    }
    const before = run.faults.length;
    const executing = executeBatch(run, calls);
    const outcome = executing instanceof Promise ? await executing : executing;
    answers.push(...answersAfter(run.faults.slice(before), calls, outcome.answers));
    stop = outcome.stop ?? run.limits.check("tool");
  }
  run.conversation.append(message, answers);
  return { answers, stop };
}

/** Whatever threw where nobody expected it: what the calls did is undone, and each is answered. */
function unforeseen(calls: readonly ToolCall[], cause: unknown): TurnOutcome {
  const stop = internalFailure(cause, "tool");
  const result = failed(stop.message);
  return { answers: calls.map((call) => toolMessage(call, result)), stop };
}

/**
 * One call, or several that overlap: prepared and approved first, then run in one transaction. At once where nothing has to
 * be waited for. Never throws, and never rejects.
 */
function executeBatch(run: Run, calls: readonly ToolCall[]): TurnOutcome | Promise<TurnOutcome> {
  try {
    const startedAt = run.world.clock.now();
    const preparing = allOf(calls.map((call) => prepare(run, call)));
    const executing = after(preparing, (prepared) => executePrepared(run, calls, prepared, startedAt));
    return executing instanceof Promise ? executing.catch((cause: unknown) => unforeseen(calls, cause)) : executing;
  } catch (cause) {
    return unforeseen(calls, cause);
  }
}

/** Goes on with what is there, or will be. */
function after<T, R>(value: T | Promise<T>, goOn: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}

/** At once where each of them is. */
function allOf<T>(all: readonly (T | Promise<T>)[]): readonly T[] | Promise<readonly T[]> {
  return all.some((each) => each instanceof Promise) ? Promise.all(all) : (all as readonly T[]);
}

function executePrepared(
  run: Run,
  calls: readonly ToolCall[],
  prepared: readonly Prepared[],
  startedAt: number,
): TurnOutcome | Promise<TurnOutcome> {
  const [only] = prepared;
  const policies = only !== undefined && "tool" in only ? policiesFor(run, only.tool) : [];
  if (only !== undefined && "tool" in only && policies.some(({ approve }) => approve !== undefined)) {
    return executeApproved(run, only, policies, startedAt);
  }
  return runInTransaction(run, calls, prepared, { policies }, startedAt);
}

type Prepared = Accepted | Invocation;

/**
 * The policies' checks come first, so that nobody is asked about a call that they deny; what they did is rolled back. Then
 * whoever approves is asked, with no lock held; then the checks come again, and the handler.
 */
async function executeApproved(
  run: Run,
  accepted: Accepted,
  policies: readonly ToolPolicy[],
  startedAt: number,
): Promise<TurnOutcome> {
  const { call } = accepted;
  const stop = run.limits.stopped("tool");
  if (stop !== undefined) return recordAlone(run, call, notRun(call, stop), startedAt);
  const checked = await checkFirst(run, announcedOutside(run, accepted), policies);
  if ("result" in checked) return recordAlone(run, call, checked, startedAt);
  const approvers = policies.filter(({ approve }) => approve !== undefined);
  const approved = await askForApproval(run, approvers, checked);
  if (isFailure(approved)) {
    const result = failed(`Not run: ${approved.message}`);
    return recordAlone(run, call, { params: jsonOf(checked.input), result, stop: approved }, startedAt);
  }
  if (approved.denied !== undefined) {
    return recordAlone(run, call, { params: jsonOf(checked.input), result: failed(approved.denied) }, startedAt);
  }
  const { input } = approved;
  return runInTransaction(run, [call], [{ ...checked, input }], { policies, approved: { input } }, startedAt);
}

/** Whoever listens learns of the call before anyone is asked; in the session it counts from the transaction on. */
function announcedOutside(run: Run, accepted: Accepted): Accepted {
  const mark = run.core.mark();
  run.core.open(mark, run.evaluationId);
  const announced = announceCall(run, accepted.call);
  run.core.rollback(mark, new Set([accepted.call.id]));
  run.core.close(mark);
  return { ...accepted, announced };
}

function announce(run: Run, { call, announced }: Accepted): void {
  if (announced === undefined) announceCall(run, call);
  else run.core.reduceAgain(announced);
}

/** A limit may have passed since the call was prepared, or a listener may have aborted at the call before it. */
function announceUnlessStopped(run: Run, accepted: Accepted): Prepared {
  const stop = run.limits.stopped("tool");
  if (stop !== undefined) return notRun(accepted.call, stop);
  announce(run, accepted);
  return accepted;
}

async function checkFirst(run: Run, accepted: Accepted, policies: readonly ToolPolicy[]): Promise<Prepared> {
  if (policies.every(({ check }) => check === undefined)) return accepted;
  const transaction = await beginCalls(run, [accepted], policies);
  if (!("holds" in transaction)) return notRun(accepted.call, transaction);
  try {
    announce(run, accepted);
    const checked = await invoke(run, accepted, transaction, { policies, checksOnly: true });
    await rollback(transaction);
    return checked;
  } catch (cause) {
    if (!transaction.undone) await rollback(transaction);
    throw cause;
  } finally {
    await endTransaction(transaction);
  }
}

/** A call that was recorded when it ended, before those in front of it. */
interface Recorded extends Invocation {
  readonly recorded: ToolResult;
}

function runInTransaction(
  run: Run,
  calls: readonly ToolCall[],
  prepared: readonly Prepared[],
  watched: Watched,
  startedAt: number,
): TurnOutcome | Promise<TurnOutcome> {
  const accepted = prepared.filter((each) => "tool" in each);
  if (accepted.length === 0) return conclude(run, calls, prepared as readonly Invocation[], noTransaction, startedAt);
  return after(beginCalls(run, accepted, watched.policies), (transaction) => {
    if (!("holds" in transaction)) {
      const invocations = prepared.map((each) => ("tool" in each ? notRun(each.call, transaction) : each));
      return conclude(run, calls, invocations, noTransaction, startedAt);
    }
    const batch = { run, calls, prepared, watched, startedAt, transaction };
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
}
/** The transactions that calls have inside the common one. */
type Own = Map<ToolCall, Transaction>;

const noOwn: Own = new Map();
const noTransaction = (): undefined => undefined;

function runBegun(batch: Batch, own: Own): TurnOutcome | Promise<TurnOutcome> {
  const before = batch.run.toolResults.length;
  let working: TurnOutcome | Promise<TurnOutcome>;
  try {
    working = runCalls(batch, own);
  } catch (cause) {
    working = Promise.reject(cause);
  }
  if (working instanceof Promise || batch.calls.length > 1) return endAfter(working, batch, own, before);
  const ending = endTransaction(batch.transaction);
  return ending === undefined ? working : ending.then(() => working);
}

/** Ends the transactions, whatever comes of the calls. */
async function endAfter(
  working: TurnOutcome | Promise<TurnOutcome>,
  { run, calls, transaction }: Batch,
  own: Own,
  before: number,
): Promise<TurnOutcome> {
  try {
    return await working;
  } catch (cause) {
    // Not even a fault of ours commits half a call.
    for (const each of [...own.values(), transaction]) if (!each.undone) await rollback(each);
    throw cause;
  } finally {
    if (calls.length > 1) orderResults(run.toolResults, before, calls);
    for (const each of own.values()) await endTransaction(each);
    const ending = endTransaction(transaction);
    if (ending !== undefined) await ending;
  }
}

function runCalls(
  { run, calls, prepared, watched, startedAt, transaction }: Batch,
  own: Own,
): TurnOutcome | Promise<TurnOutcome> {
  const transactionOf = (call: ToolCall): Transaction => own.get(call) ?? transaction;
  const begun = prepared.map((each) => ("tool" in each ? announceUnlessStopped(run, each) : each));
  const invoking = allOf(
    begun.map((each) => {
      if ("result" in each) return each;
      const invocation = invoke(run, each, transactionOf(each.call), watched);
      return own.size === 0 ? invocation : endEarly(run, each.call, invocation, own, startedAt);
    }),
  );
  return after(invoking, (ended) => {
    const invocations = ended as readonly (Invocation | Recorded)[];
    const undone = calls.filter((_, index) => isToUndo(invocations[index]));
    const undoing = undone.length === 0 ? undefined : undo(undone, transactionOf);
    return after(undoing, () => conclude(run, calls, invocations, transactionOf, startedAt));
  });
}

async function undo(calls: readonly ToolCall[], transactionOf: (call: ToolCall) => Transaction): Promise<void> {
  for (const [transaction, failing] of Map.groupBy(calls, transactionOf)) {
    await rollback(transaction, new Set(failing.map(({ id }) => id)));
  }
}

function isToUndo(invocation: Invocation | Recorded | undefined): boolean {
  return invocation !== undefined && !("recorded" in invocation) && !invocation.result.success;
}

/**
 * A call that overlaps with others, and holds what evaluations inside it have used, ends when its handler has: another one
 * may evaluate then. The others end together, in the model's order.
 */
async function endEarly(
  run: Run,
  call: ToolCall,
  invoking: Prepared | Promise<Prepared>,
  own: Map<ToolCall, Transaction>,
  startedAt: number,
): Promise<Prepared | Recorded> {
  const invocation = await invoking;
  const transaction = own.get(call);
  if (!("result" in invocation) || transaction === undefined || transaction.holds.length === 0) return invocation;
  own.delete(call);
  try {
    if (!invocation.result.success) await rollback(transaction, new Set([call.id]));
    return { ...invocation, recorded: await recordCall(run, call, invocation, transaction, startedAt) };
  } finally {
    await endTransaction(transaction);
  }
}

/** In the model's order, whatever ended first. */
function orderResults(results: ToolInvoked[], from: number, calls: readonly ToolCall[]): void {
  const places = new Map(calls.map(({ id }, place) => [id, place]));
  const placeOf = ({ callId }: ToolInvoked): number => places.get(callId) ?? calls.length;
  results.push(...results.splice(from).toSorted((a, b) => placeOf(a) - placeOf(b)));
}

function recordAlone(
  run: Run,
  call: ToolCall,
  invocation: Invocation,
  startedAt: number,
): TurnOutcome | Promise<TurnOutcome> {
  return conclude(run, [call], [invocation], noTransaction, startedAt);
}

/** Without its locks and snapshots no handler is run. */
function notRun(call: ToolCall, why: NotBegun): Invocation {
  const message = `Not run: ${isFailure(why) ? why.message : messageOf(why.error)}`;
  const params: RejectedParams = { rawArguments: String(call.arguments), error: message };
  return { params, result: failed(message), stop: isFailure(why) ? why : undefined };
}

/** Each call recorded and answered, in the model's order; at once where nothing has to be waited for. */
function conclude(
  run: Run,
  calls: readonly ToolCall[],
  invocations: readonly (Invocation | Recorded)[],
  transactionOf: (call: ToolCall) => Transaction | undefined,
  startedAt: number,
): TurnOutcome | Promise<TurnOutcome> {
  const stop = invocations.find((each) => each.stop !== undefined)?.stop;
  const answers: ToolMessage[] = [];
  const answerFrom = (first: number): TurnOutcome | Promise<TurnOutcome> => {
    for (let index = first; index < calls.length; index++) {
      const call = calls[index] as ToolCall;
      const invocation = invocations[index] as Invocation | Recorded;
      const answering = answered(run, call, invocation, transactionOf(call), startedAt);
      if (!isThenable(answering)) answers.push(answering);
      else {
        return answering.then((answer) => {
          answers.push(answer);
          return answerFrom(index + 1);
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
  invocation: Invocation | Recorded,
  transaction: Transaction | undefined,
  startedAt: number,
): ToolMessage | Promise<ToolMessage> {
  const withOthers = (result: ToolResult): ToolMessage | Promise<ToolMessage> => {
    const message = toolMessage(call, result);
    return run.rendered.feedback.length === 0 ? message : withFeedback(run, call, message, transaction);
  };
  if ("recorded" in invocation) return withOthers(invocation.recorded);
  const recording = recordCall(run, call, invocation, transaction, startedAt);
  return isThenable(recording) ? recording.then(withOthers) : withOthers(recording);
}
