import {
  DefinitionError,
  RevokedError,
  type AppEvent,
  type CallGuard,
  type NestedOptions,
  type Prompt,
  type ResourceKey,
  type SessionState,
  type Tool,
  type ToolCall,
  type ToolContext,
  type ToolPolicy,
} from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import type { Calling, CallResources } from "../resources/asking.ts";
import type { Run } from "../run.ts";
import { checkAppEvent } from "../session/session-core.ts";
import { noting } from "../transactions/observed-calls.ts";
import { CallKey } from "./idempotency-key.ts";
import { liveResources } from "../resources/call-resources.ts";
import { reportProgress } from "./progress.ts";
import { running, type OfRunning } from "./running.ts";
import { nestedEvaluations, type NestedEvaluations } from "../nested/nested-evaluations.ts";
import { watchedResult } from "./watched-result.ts";
import type { Transaction } from "../transactions/transaction.ts";

/** What one call may use while it lasts. */
export interface CallContext {
  readonly context: ToolContext;
  readonly guard: CallGuard;
  /** Makes what is made anew for each call; undefined where nothing is. */
  openResources(): Promise<void> | undefined;
  /** Closes what was made for the call; undefined where nothing was. */
  closeResources(): (() => Promise<void> | undefined) | undefined;
  /** A policy's check is about to run: from here on it asks for resources. */
  beginCheck(policy: Pick<ToolPolicy, "name" | "uses">): void;
  /** The turn of the tool's `reconcile`, which may change nothing. */
  beginReconcile(): void;
  /** The handler's turn: what a read-only one may not change is refused from here on. */
  beginHandler(): void;
  /** Why the call fails though its handler does not say so. */
  refused(): string | undefined;
  isLive(): boolean;
  /** Whether the handler was begun. */
  hasRun(): boolean;
  /** Whether evaluations inside the call were begun. */
  hasEvaluated(): boolean;
  /** The key of the call, for services that do nothing twice under one key. */
  callKey(): CallKey;
  /** Makes every later use of the context throw without effect; resolves when evaluations inside have ended too. */
  end(): Promise<void> | undefined;
}

// One getter for all contexts: V8 keeps what a getter of a literal closes over until a full collection.
const signalProperty: PropertyDescriptor = {
  enumerable: true,
  get(this: OfRunning) {
    return this[running]?.of.signal();
  },
};
const keyProperty: PropertyDescriptor = {
  enumerable: true,
  get(this: OfRunning) {
    return this[running]?.callKey().value;
  },
};

/** What a call is made of. */
interface CallParts {
  readonly run: Run;
  readonly call: ToolCall;
  readonly tool: Pick<Tool, "name" | "readOnly" | "uses">;
  readonly transaction: Transaction;
  readonly signal: () => AbortSignal;
}

export function callContext(
  run: Run,
  { call, tool }: Pick<CallParts, "call" | "tool">,
  transaction: Transaction,
  signal: () => AbortSignal,
): CallContext {
  return new RunningCall({ run, call, tool, transaction, signal });
}

/** A class: what only the runtime calls would cost each call a closure more. */
class RunningCall implements CallContext, CallState {
  live = true;
  phase: CallState["phase"] = "policies";
  asks: CallState["asks"];
  refusal: string | undefined;
  unread: UnreadResult[] | undefined;
  readonly guard: CallGuard;
  readonly context: ToolContext;
  readonly of: CallParts;
  private key: CallKey | undefined;
  private nested: NestedEvaluations | undefined;
  private opened: CallResources | undefined;

  constructor(of: CallParts) {
    const { run, call, tool, transaction } = of;
    this.of = of;
    this.asks = { name: tool.name };
    this.guard = callGuard(of, this);
    const context: Omit<ToolContext, "signal" | "idempotencyKey"> & { [running]?: RunningCall } = {
      callId: call.id,
      turn: run.turn,
      attempt: run.tape?.attempt ?? 1,
      evaluationId: run.evaluationId,
      prompt: run.prompt,
      rendered: run.rendered,
      adapter: run.adapter,
      session: callSession(run, call, transaction, this),
      resources: liveResources(() => this.resources().resources, this.guard),
      deadline: run.limits.deadline,
      budget: run.limits.budget,
      progress: (progress) => reportProgress(run, call, progress, this.live),
      evaluate: <Output>(prompt: Prompt<Output> | string, options?: NestedOptions) =>
        this.evaluations().evaluate(prompt, options),
    };
    // A computed key would make the literal four times slower.
    context[running] = this;
    Object.defineProperty(context, "signal", signalProperty);
    Object.defineProperty(context, "idempotencyKey", keyProperty);
    this.context = Object.freeze(context) as unknown as ToolContext;
  }

  callKey(): CallKey {
    return (this.key ??= new CallKey(this.of.run, this.of.call));
  }

  openResources(): Promise<void> | undefined {
    const { run, tool } = this.of;
    const { uses = [] } = tool;
    return run.resources.makesForCalls(uses) ? this.resources().open(uses) : undefined;
  }
  closeResources(): (() => Promise<void> | undefined) | undefined {
    return this.opened === undefined || this.opened.isEmpty() ? undefined : this.opened.close;
  }
  beginCheck({ name, uses }: Pick<ToolPolicy, "name" | "uses">): void {
    this.asks = { name: `The policy ${name}`, uses };
  }
  beginReconcile(): void {
    this.phase = "reconcile";
    this.asks = this.of.tool;
  }
  beginHandler(): void {
    this.phase = "handler";
    this.asks = this.of.tool;
  }
  refused(): string | undefined {
    return this.refusal ?? this.unread?.find(({ isRead }) => !isRead())?.why;
  }
  isLive(): boolean {
    return this.live;
  }
  hasRun(): boolean {
    return this.phase === "handler";
  }
  hasEvaluated(): boolean {
    return this.nested !== undefined;
  }
  end(): Promise<void> | undefined {
    this.live = false;
    return this.nested?.end();
  }

  /** Most calls ask for nothing. */
  private resources(): CallResources {
    return (this.opened ??= this.of.run.resources.forCall(this.asker()));
  }
  private asker(): Calling {
    const { guard } = this;
    return {
      transaction: this.of.transaction,
      guard,
      mode: () => (guard.isReadOnly() ? "read" : "write"),
      assertMayAsk: (key) => assertDeclared(this.asks, key),
      got: noting(this.of),
    };
  }
  private evaluations(): NestedEvaluations {
    const { run, call, transaction, signal } = this.of;
    return (this.nested ??= nestedEvaluations(run, call, transaction, signal, {
      ...this.guard,
      idempotencyKey: () => this.callKey().value,
    }));
  }
}

/** @throws {DefinitionError} for a key that is not among the declared ones. */
function assertDeclared({ name, uses }: CallState["asks"], key: ResourceKey<unknown>): void {
  if (uses === undefined || uses.includes(key)) return;
  const declared = uses.map((other) => `"${other.name}"`).join(", ") || "nothing";
  throw new DefinitionError(`${name} asks for "${key.name}" and declares ${declared}: add the key to its uses.`);
}

/** How far a call is. */
interface CallState {
  live: boolean;
  phase: "policies" | "reconcile" | "handler";
  /** The tool or policy whose code runs, and what it may ask for. */
  asks: Pick<Tool, "name" | "uses">;
  /** Why the call fails, where the running code asked for what it may not. */
  refusal: string | undefined;
  /** What became of dispatches whose reducers threw. */
  unread: UnreadResult[] | undefined;
  readonly guard: CallGuard;
}

/** A DispatchResult with errors: the call fails unless the handler looked at it. */
interface UnreadResult {
  isRead(): boolean;
  readonly why: string;
}

function callGuard({ run, call, tool }: CallParts, state: CallState): CallGuard {
  const isReadOnly = tool.readOnly === true || run.nesting?.readOnly === true;
  // A policy's check may hold only a reader's lock where the tool declares `uses`.
  const mayChange = { handler: !isReadOnly, policies: !isReadOnly && tool.uses === undefined, reconcile: false };
  return {
    isReadOnly: () => !mayChange[state.phase],
    assertLive() {
      if (!state.live)
        throw new RevokedError(`The call of ${call.name} (${call.id}) is over: its context cannot be used any more.`);
      run.nesting?.assertLive();
    },
    assertMayChange(what) {
      if (mayChange[state.phase]) return;
      state.refusal ??=
        state.phase !== "policies"
          ? `${state.phase === "reconcile" ? `The reconcile of ${tool.name} may change nothing` : `${tool.name} is read-only`}, but tried to change ${what}.`
          : `A policy of ${tool.name} tried to change ${what}, which is not locked for it: a tool that declares what it uses, or is read-only, has policies that change no resource.`;
      throw new DefinitionError(state.refusal);
    },
    fail: (why) => void (state.refusal ??= why),
  };
}

/** A policy may dispatch, also for a tool that is read-only. */
function assertMayDispatch({ phase, guard }: CallState): void {
  if (phase === "handler" || phase === "reconcile") guard.assertMayChange("the session");
}

function callSession(run: Run, call: ToolCall, transaction: Transaction, state: CallState): SessionState {
  const { assertLive } = state.guard;
  const { id: callId, name: tool } = call;
  return {
    id: run.core.session.id,
    dispatch(event: AppEvent) {
      assertLive();
      run.core.assertUsable();
      checkAppEvent(event);
      assertMayDispatch(state);
      const redacted = run.redact(event);
      const errors = run.core.reduce(redacted, { evaluationId: run.evaluationId, callId });
      const order = run.core.nextOrder(run.evaluationId, callId);
      transaction.pendingEvents.push({ event: redacted, by: run, callId, before: run.core.nextSeq, order });
      if (errors.length === 0) return { ok: true, errors };
      for (const error of errors)
        run.log("error", { type: event.type, tool, callId, error: messageOf(error) }, "session.reducer.failed");
      const why = `The event "${event.type}" could not be reduced: ${errors.map(messageOf).join("; ")}`;
      const { result, isRead } = watchedResult(errors);
      (state.unread ??= []).push({ isRead, why });
      return result;
    },
    get(slice) {
      assertLive();
      return run.core.session.get(slice);
    },
  };
}
