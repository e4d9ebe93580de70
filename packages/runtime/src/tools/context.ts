import {
  DefinitionError,
  RevokedError,
  type AppEvent,
  type Resources,
  type SessionState,
  type Tool,
  type ToolCall,
  type ToolContext,
} from "@proviso/core";
import { guarded, type CallGuard } from "../resources/guard.ts";
import type { Run } from "../run.ts";
import { checkAppEvent } from "../session/session.ts";
import { nestedEvaluations, type NestedEvaluations } from "./nested-evaluations.ts";
import type { Transaction } from "./transaction.ts";

/** What one call may use while it lasts. */
export interface CallContext {
  readonly context: ToolContext;
  /** The handler's turn: what a read-only one may not change is refused from here on. */
  beginHandler(): void;
  /** Why the call fails though its handler does not say so. */
  refused(): string | undefined;
  isLive(): boolean;
  /** From here on every use raises and changes nothing; resolves when evaluations inside have ended too. */
  end(): Promise<void> | undefined;
}

// One getter for all contexts: V8 keeps what a getter of a literal closes over until a full collection.
const makeSignal = Symbol("signal");
const signalProperty: PropertyDescriptor = {
  enumerable: true,
  get(this: { readonly [makeSignal]: () => AbortSignal }) {
    return this[makeSignal]();
  },
};

export function callContext(
  run: Run,
  { call, tool }: { readonly call: ToolCall; readonly tool: Pick<Tool, "name" | "readOnly"> },
  transaction: Transaction,
  resources: Resources,
  signal: () => AbortSignal,
): CallContext {
  const standing: Standing = { live: true, readOnly: false, refused: undefined };
  const guards = callGuard(run, call, tool.name, standing);
  let nested: NestedEvaluations | undefined;
  const { assertLive } = guards;
  const nestedOf = (): NestedEvaluations =>
    (nested ??= nestedEvaluations(run, call, transaction, signal, { assertLive, isReadOnly: guards.isReadOnly }));
  const context: Omit<ToolContext, "signal"> & { readonly [makeSignal]: () => AbortSignal } = {
    callId: call.id,
    turn: run.turn,
    evaluationId: run.evaluationId,
    prompt: run.prompt,
    rendered: run.rendered,
    adapter: run.adapter,
    session: callSession(run, call, transaction, guards),
    resources: callResources(resources, guards),
    deadline: run.limits.deadline,
    budget: run.limits.budget,
    [makeSignal]: signal,
    evaluate: (prompt, options) => nestedOf().evaluate(prompt, options),
  };
  return {
    context: Object.freeze(Object.defineProperty(context, "signal", signalProperty)) as unknown as ToolContext,
    beginHandler: () => void (standing.readOnly = tool.readOnly === true || run.nesting?.readOnly === true),
    refused: () => standing.refused,
    isLive: () => standing.live,
    end() {
      standing.live = false;
      return nested?.end();
    },
  };
}

/** How a call stands. */
interface Standing {
  live: boolean;
  readOnly: boolean;
  refused: string | undefined;
}

function callGuard(run: Run, call: ToolCall, tool: string, standing: Standing): CallGuard {
  return {
    isReadOnly: () => standing.readOnly,
    assertLive() {
      if (!standing.live)
        throw new RevokedError(`The call of ${call.name} (${call.id}) is over: its context cannot be used any more.`);
      run.nesting?.assertLive();
    },
    assertMayChange(what) {
      if (!standing.readOnly) return;
      standing.refused ??= `${tool} is read-only, but tried to change ${what}.`;
      throw new DefinitionError(standing.refused);
    },
    fail: (why) => void (standing.refused ??= why),
  };
}

function callSession(
  run: Run,
  { id: callId }: ToolCall,
  transaction: Transaction,
  { assertLive, assertMayChange }: CallGuard,
): SessionState {
  const by = { evaluationId: run.evaluationId, callId };
  return {
    id: run.core.session.id,
    dispatch(event: AppEvent) {
      assertLive();
      run.core.assertUsable();
      checkAppEvent(event);
      assertMayChange("the session");
      const told = run.redact(event);
      const errors = run.core.reduce(told, by);
      transaction.unheard.push({ event: told, by: run });
      return { ok: errors.length === 0, errors };
    },
    get(slice) {
      assertLive();
      return run.core.session.get(slice);
    },
  };
}

function callResources(resources: Resources, guard: CallGuard): Resources {
  const { assertLive } = guard;
  return {
    get(key) {
      assertLive();
      return guarded(resources.get(key), guard);
    },
    find(key) {
      assertLive();
      return guarded(resources.find(key), guard);
    },
    async open(key) {
      assertLive();
      const opened = await resources.open(key);
      assertLive();
      return guarded(opened, guard);
    },
  };
}
