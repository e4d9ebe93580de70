import type { ToolCall, ToolInvoked, ToolResult } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import { elapsedMs } from "../environment.ts";
import type { Run } from "../run.ts";
import type { BareEvent } from "../session/session-core.ts";
import { rollback } from "../transactions/ending.ts";
import type { PendingEvent, Transaction } from "../transactions/transaction.ts";
import type { Invocation } from "./invocation.ts";
import { failed } from "./result.ts";
import { announceOpening } from "../disclosure/opening.ts";

/**
 * Emits `tool.invoked`. Recorded means committed: where a reducer or a listener throws on a success, the call is undone and
 * recorded as failed. Without a transaction the call did nothing, and has failed.
 */
export function recordCall(
  run: Run,
  call: ToolCall,
  { params, result, opens, cause, durationMs, ran }: Invocation,
  transaction: Transaction | undefined,
  startedAt: number,
): ToolResult | Promise<ToolResult> {
  if (!result.success || transaction === undefined) {
    if (opens !== undefined) announceOpening(run, opens);
    record(run, call, { params, result, cause, durationMs, ran }, startedAt);
    return result;
  }
  // Where nothing receives the event, nothing can refuse it.
  const beforeEvent = run.core.hasReceivers() ? run.core.mark("all") : undefined;
  if (beforeEvent !== undefined) run.core.open(beforeEvent, run.evaluationId);
  if (opens !== undefined) announceOpening(run, opens);
  const errors = record(run, call, { params, result, durationMs, ran }, startedAt);
  if (beforeEvent !== undefined) {
    if (errors.length > 0) run.core.rollback(beforeEvent);
    run.core.close(beforeEvent);
  }
  if (errors.length === 0) {
    deliver(run, call, transaction);
    run.tape?.succeeded(run, call, transaction);
    return result;
  }
  run.observing?.changed(transaction, true, [call.id]);
  return rollback(transaction, new Set([call.id])).then(() => {
    const vetoed = failed(`The call of ${call.name} could not be recorded: ${errors.map(messageOf).join("; ")}`);
    record(run, call, { params, result: vetoed, cause: errors[0], durationMs, ran }, startedAt);
    return vetoed;
  });
}

/** Delivers to the listeners what a committed call dispatched; what they throw is logged and undoes nothing. */
function deliver(run: Run, { id }: ToolCall, { pendingEvents }: Transaction): void {
  if (pendingEvents.length === 0) return;
  const own = pendingEvents.filter(({ callId }) => callId === id);
  const others = pendingEvents.filter(({ callId }) => callId !== id);
  pendingEvents.length = 0;
  for (const each of others) pendingEvents.push(each);
  if (run.attempt === undefined) return deliverEvents(run, own);
  // The record has them with their call; listeners receive them when the attempt counts.
  if (!run.isInside) for (const each of own) run.tape?.dispatched(run, each);
  for (const each of own) run.attempt.pendingEvents.push(each);
}

/** Delivers events that count now, to the call around or else to the listeners. */
export function deliverEvents(run: Run, own: readonly PendingEvent[]): void {
  const { callId: around, transaction: outer } = run.nesting ?? {};
  if (around !== undefined && outer !== undefined) {
    // The events belong to the enclosing call, and are delivered when that commits.
    for (const each of own) outer.pendingEvents.push({ ...each, callId: around });
    return;
  }
  for (const each of own) {
    if (run.tape?.dispatched(run, each) === false) continue;
    const { event, by } = each;
    for (const error of run.core.notify(event)) {
      run.log("error", { type: event.type, error: messageOf(error) }, "session.listener.failed");
    }
    by.watch?.({ type: "app", event });
    by.observing?.app(event);
  }
}

/** `tool.invoked`, reduced and delivered. */
function record(
  run: Run,
  call: ToolCall,
  { params, result, cause, durationMs, ran = false }: Omit<Invocation, "stop" | "opens">,
  startedAt: number,
): readonly unknown[] {
  const bare: BareEvent = {
    type: "tool.invoked",
    turn: run.turn,
    callId: call.id,
    name: call.name,
    params,
    result,
    durationMs: durationMs ?? elapsedMs(run.world.clock, startedAt),
    ran,
    // The event is kept with the response: fields that come later would stand in a second object, a quarter more in
    // all.
    evaluationId: "",
    at: 0,
    sessionId: "",
    seq: 0,
  };
  const { event, errors } = run.emit(bare, cause);
  // A vetoed success is followed by the failed result of the same call.
  if (errors.length === 0 || !result.success) run.toolResults.push(event as ToolInvoked);
  return errors;
}
