import type { AssistantMessage, RejectedParams, ToolCall, ToolInvoked, ToolMessage, ToolResult } from "@proviso/core";
import { elapsedMs } from "../elapsed.ts";
import { isFailure, messageOf, type Failure } from "../failures.ts";
import type { Run } from "../run.ts";
import { failed, invoke, prepare, type Accepted, type Invocation } from "./call.ts";
import { announceOpening } from "./disclosure.ts";
import { withFeedback } from "./feedback.ts";
import { toolMessage } from "./message.ts";
import { policiesFor } from "./policies.ts";
import { beginTransaction, commit, end, rollback, type Transaction } from "./transaction.ts";

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
      const notRun = failed(`Not run: ${stop.message}`);
      for (const call of calls) answers.push(toolMessage(call, notRun));
      continue;
    }
    const outcome = await executeBatch(run, calls);
    answers.push(...outcome.answers);
    stop = outcome.stop ?? run.limits.check("tool");
  }
  run.conversation.append(message, answers);
  return { answers, stop };
}

/** Neighbours that change nothing go together; one whose policies want to look at it goes alone. */
function batchesOf(run: Run, calls: readonly ToolCall[]): readonly (readonly ToolCall[])[] {
  const batches: ToolCall[][] = [];
  let overlapping = false;
  for (const call of calls) {
    const tool = run.tools.get(call.name);
    const overlaps = tool?.readOnly === true && policiesFor(run, tool).length === 0;
    if (overlaps && overlapping) batches.at(-1)?.push(call);
    else batches.push([call]);
    overlapping = overlaps;
  }
  return batches;
}

/** Calls in one transaction: one call, or several that change nothing. */
async function executeBatch(run: Run, calls: readonly ToolCall[]): Promise<TurnOutcome> {
  const startedAt = run.world.clock.now();
  const transaction = await beginTransaction(run, calls.map(({ name }) => name).join(", "));
  if (!("leave" in transaction)) return notBegun(run, calls, transaction, startedAt);
  try {
    const invocations = await invokeAll(run, calls, transaction);
    const undone = calls.filter((_, index) => invocations[index]?.result.success !== true);
    if (undone.length > 0) await rollback(run, transaction, undone);
    const answers: ToolMessage[] = [];
    for (const [index, call] of calls.entries()) {
      const result = await conclude(run, call, invocations[index] as Invocation, transaction, startedAt);
      answers.push(withFeedback(run, call, toolMessage(call, result), transaction));
    }
    return { answers, stop: invocations.find(({ stop }) => stop !== undefined)?.stop };
  } finally {
    await end(run, transaction);
  }
}

/** Announced in the model's order, then run together. */
async function invokeAll(
  run: Run,
  calls: readonly ToolCall[],
  transaction: Transaction,
): Promise<readonly Invocation[]> {
  const prepared: (Accepted | Invocation)[] = [];
  for (const call of calls) prepared.push(await prepare(run, call));
  const invoked = async (each: Accepted | Invocation): Promise<Invocation> =>
    "result" in each ? each : invoke(run, each, transaction);
  const [only, ...others] = prepared;
  return only !== undefined && others.length === 0 ? [await invoked(only)] : Promise.all(prepared.map(invoked));
}

/** Recorded means committed: what could not be recorded did not happen. */
async function conclude(
  run: Run,
  call: ToolCall,
  { params, result, opens }: Invocation,
  transaction: Transaction,
  startedAt: number,
): Promise<ToolResult> {
  if (!result.success) {
    if (opens !== undefined) announceOpening(run, opens);
    record(run, call, params, result, startedAt);
    return result;
  }
  const beforeEvent = run.core.mark("all");
  run.core.open(beforeEvent, run.evaluationId);
  if (opens !== undefined) announceOpening(run, opens);
  const errors = record(run, call, params, result, startedAt);
  if (errors.length > 0) run.core.rollback(beforeEvent);
  run.core.close(beforeEvent);
  if (errors.length === 0) {
    commit(run, transaction);
    return result;
  }
  await rollback(run, transaction, [call]);
  const vetoed = failed(`The call of ${call.name} could not be recorded: ${errors.map(messageOf).join("; ")}`);
  record(run, call, params, vetoed, startedAt);
  return vetoed;
}

/** Without a snapshot nothing may change: no handler is run. */
function notBegun(
  run: Run,
  calls: readonly ToolCall[],
  why: Failure | { readonly error: unknown },
  startedAt: number,
): TurnOutcome {
  const message = isFailure(why)
    ? `Not run: ${why.message}`
    : `Not run: no snapshot could be made: ${messageOf(why.error)}`;
  const result = failed(message);
  const answers = calls.map((call) => {
    const params: RejectedParams = { rawArguments: String(call.arguments), error: message };
    record(run, call, params, result, startedAt);
    return toolMessage(call, result);
  });
  return { answers, stop: isFailure(why) ? why : undefined };
}

/** `tool.invoked`, reduced and heard. */
function record(run: Run, call: ToolCall, params: unknown, result: ToolResult, startedAt: number): readonly unknown[] {
  const { event, errors } = run.emit({
    type: "tool.invoked",
    turn: run.turn,
    callId: call.id,
    name: call.name,
    params,
    result,
    durationMs: elapsedMs(run.world.clock, startedAt),
    evaluationId: "",
    at: 0,
    sessionId: "",
    seq: 0,
  });
  // A vetoed success is followed by the failed result of the same call.
  if (errors.length === 0 || !result.success) run.toolResults.push(event as ToolInvoked);
  return errors;
}
