import {
  NotSupportedError,
  RevokedError,
  type AppEvent,
  type Resources,
  type SessionState,
  type ToolCall,
  type ToolContext,
} from "@proviso/core";
import { guarded } from "../resources/guard.ts";
import type { Run } from "../run.ts";
import { checkAppEvent } from "../session/session.ts";
import type { Transaction } from "./transaction.ts";

export interface RevocableContext {
  readonly context: ToolContext;
  /** From here on every use raises and changes nothing. */
  revoke(): void;
}

/** What one call may use while it lasts. */
export function callContext(
  run: Run,
  call: ToolCall,
  transaction: Transaction,
  resources: Resources,
  signal: AbortSignal,
): RevocableContext {
  let live = true;
  const assertLive = (): void => {
    if (!live)
      throw new RevokedError(`The call of ${call.name} (${call.id}) is over: its context cannot be used any more.`);
  };
  const context: ToolContext = {
    callId: call.id,
    turn: run.turn,
    evaluationId: run.evaluationId,
    prompt: run.prompt,
    rendered: run.rendered,
    adapter: run.adapter,
    session: callSession(run, transaction, assertLive),
    resources: callResources(resources, assertLive),
    deadline: run.limits.deadline,
    budget: run.limits.budget,
    signal,
    async evaluate() {
      assertLive();
      throw new NotSupportedError("An evaluation inside a tool call");
    },
  };
  return { context: Object.freeze(context), revoke: () => void (live = false) };
}

function callSession(run: Run, transaction: Transaction, assertLive: () => void): SessionState {
  return {
    id: run.core.session.id,
    dispatch(event: AppEvent) {
      assertLive();
      run.core.assertUsable();
      checkAppEvent(event);
      const errors = run.core.reduce(event);
      transaction.unheard.push(event);
      return { ok: errors.length === 0, errors };
    },
    get(slice) {
      assertLive();
      return run.core.session.get(slice);
    },
  };
}

function callResources(resources: Resources, assertLive: () => void): Resources {
  return {
    get(key) {
      assertLive();
      return guarded(resources.get(key), assertLive);
    },
    find(key) {
      assertLive();
      return guarded(resources.find(key), assertLive);
    },
    async open(key) {
      assertLive();
      const opened = await resources.open(key);
      assertLive();
      return guarded(opened, assertLive);
    },
  };
}
