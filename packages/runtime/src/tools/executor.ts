import type { AssistantMessage, Tool, ToolCall, ToolMessage, ToolPolicy } from "@proviso/core";
import { whyNoMoreCalls } from "../failing.ts";
import { internalFailure, isFailure, type Failure } from "../failures.ts";
import { after, allOf, pausesOf } from "@proviso/core/internal";
import type { KeptCalls } from "../recording/contract.ts";
import type { Run } from "../run.ts";
import { endTransaction, rollback } from "../transactions/ending.ts";
import { beginCalls } from "./begin.ts";
import type { Accepted } from "./invocation.ts";
import { invoke, prepare, requestedEvent } from "./run-call.ts";
import {
  announceAccepted,
  notRun,
  recordAlone,
  runInTransaction,
  type Prepared,
  type TurnOutcome,
} from "./in-transaction.ts";
import { answersAfter, toolMessage, failed, jsonOf } from "./result.ts";
import { askForApproval, policiesFor } from "./policies.ts";

/**
 * One batch after another in the model's order; every call is answered, whatever happens. Nothing is run after a limit
 * (`passed` is one that was met already), or over a session that cannot be used any more.
 */
export async function executeToolCalls(run: Run, message: AssistantMessage, passed?: Failure): Promise<TurnOutcome> {
  const answers: ToolMessage[] = [];
  run.calls = message.toolCalls;
  let stop: Failure | undefined =
    passed === undefined ? (run.limits.stopped("tool") ?? whyNoMoreCalls(run)) : { ...passed, phase: "tool" };
  const pause = pausesOf(run.tape?.clock ?? run.world.clock, longestMs);
  for (const calls of batchesOf(run, message.toolCalls)) {
    if (stop !== undefined) {
      for (const answer of notBegun(calls, stop).answers) answers.push(answer);
      const waiting = pause();
      if (waiting !== undefined) await waiting;
      continue;
    }
    const before = run.faults.length;
    const executing = executeRecorded(run, calls);
    const outcome = executing instanceof Promise ? await executing : executing;
    const faults = run.faults.length === before ? noFaults : run.faults.slice(before);
    for (const answer of answersAfter(faults, calls, outcome.answers)) answers.push(answer);
    const waiting = pause();
    if (waiting !== undefined) await waiting;
    stop = outcome.stop ?? run.limits.check("tool");
  }
  // What a run cannot go on after is no answer of a call.
  run.tape?.assertNoFault();
  const { context } = run;
  run.history.append(message, context === undefined ? answers : await context.shownAnswers(answers));
  return { answers, stop };
}

/** How long calls are answered before timers and sockets have their turn, in milliseconds. */
const longestMs = 20;

const noFaults: Run["faults"] = [];

/** Calls that the record of the run answers are not run. */
function executeRecorded(run: Run, calls: readonly ToolCall[]): TurnOutcome | Promise<TurnOutcome> {
  const keeping = run.tape?.calls(run, calls);
  return keeping === undefined ? executeBatch(run, calls) : keeping.then((kept) => executeRest(run, calls, kept));
}

async function executeRest(run: Run, calls: readonly ToolCall[], kept: KeptCalls | undefined): Promise<TurnOutcome> {
  if (kept === undefined) return executeBatch(run, calls);
  const rest = calls.filter((_, place) => kept.answers[place] === undefined);
  const begins = rest.length > 0 && kept.stop === undefined;
  const { answers, stop } = begins ? await executeBatch(run, rest) : notBegun(rest, kept.stop);
  const others = answers.values();
  return { answers: kept.answers.map((answer) => answer ?? (others.next().value as ToolMessage)), stop };
}

/** Answers calls that a limit keeps from beginning. */
function notBegun(calls: readonly ToolCall[], stop: Failure | undefined): TurnOutcome {
  return { answers: calls.map((call) => toolMessage(call, failed(`Not run: ${stop?.message}`))), stop };
}

/** Answers all calls with an unexpected error. What they did is undone where their transactions end. */
function unforeseenResults(calls: readonly ToolCall[], cause: unknown): TurnOutcome {
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
    return executing instanceof Promise
      ? executing.catch((cause: unknown) => unforeseenResults(calls, cause))
      : executing;
  } catch (cause) {
    return unforeseenResults(calls, cause);
  }
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
    const approve = (): Promise<TurnOutcome> => executeApproved(run, only, policies, startedAt);
    const { observing } = run;
    return observing?.surrounds === true ? observing.aroundCall(only.call, approve) : approve();
  }
  return runInTransaction(run, calls, prepared, { policies }, startedAt);
}

/**
 * Runs the policies' checks first, so that no approval is asked for a call that they deny, and rolls back what they
 * did. Then it asks for approval, with no lock held; then the checks run again, and the handler.
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
  const watched = { policies, approved: { input }, isSurrounded: true };
  return runInTransaction(run, [call], [{ ...checked, input }], watched, startedAt);
}

/** Emits the call to listeners before an approval is asked for; in the session it counts from the transaction on. */
function announcedOutside(run: Run, accepted: Accepted): Accepted {
  const mark = run.core.mark();
  run.core.open(mark, run.evaluationId);
  const announced = run.emit(requestedEvent(run, accepted.call)).event;
  run.core.rollback(mark, new Set([accepted.call.id]));
  run.core.close(mark);
  return { ...accepted, announced };
}

async function checkFirst(run: Run, accepted: Accepted, policies: readonly ToolPolicy[]): Promise<Prepared> {
  if (policies.every(({ check }) => check === undefined)) return accepted;
  const transaction = await beginCalls(run, [accepted], policies, { isTrial: true });
  if (!("holds" in transaction)) return notRun(accepted.call, transaction);
  try {
    announceAccepted(run, accepted);
    const checked = await invoke(run, accepted, transaction, { policies, checksOnly: true, isSurrounded: true });
    await rollback(transaction);
    return checked;
  } catch (cause) {
    if (!transaction.undone) await rollback(transaction);
    throw cause;
  } finally {
    await endTransaction(transaction);
  }
}

/** Calls that overlap at the most: each has a mark of its own, and undoing one looks at what all others did. */
const mostAtOnce = 64;

/**
 * Splits calls into batches that run together: neighbours which do not exclude other calls, because they change nothing
 * or use no resource. A call with policies runs alone.
 */
function batchesOf(run: Run, calls: readonly ToolCall[]): readonly (readonly ToolCall[])[] {
  const batches: ToolCall[][] = [];
  let before: "reading" | "using nothing" | undefined;
  for (const call of calls) {
    const tool = run.tools.get(call.name);
    const kind = tool === undefined || policiesFor(run, tool).length > 0 ? undefined : kindOf(tool);
    const last = batches.at(-1);
    if (kind !== undefined && kind === before && last !== undefined && last.length < mostAtOnce) last.push(call);
    else batches.push([call]);
    before = kind;
  }
  return batches;
}

function kindOf({ readOnly, uses }: Tool): "reading" | "using nothing" | undefined {
  if (readOnly === true) return "reading";
  return uses?.length === 0 ? "using nothing" : undefined;
}
