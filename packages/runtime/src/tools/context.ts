import {
  DefinitionError,
  RevokedError,
  type AppEvent,
  type CallGuard,
  type DispatchResult,
  type NestedOptions,
  type Prompt,
  type ResourceKey,
  type Resources,
  type SessionState,
  type Tool,
  type ToolCall,
  type ToolContext,
  type ToolPolicy,
} from "@proviso/core";
import { messageOf } from "../failures.ts";
import type { Calling } from "../resources/asking.ts";
import type { CallResources } from "../resources/call-resources.ts";
import type { Run } from "../run.ts";
import { checkAppEvent } from "../session/session.ts";
import { nestedEvaluations, type NestedEvaluations } from "./nested-evaluations.ts";
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
  { call, tool }: { readonly call: ToolCall; readonly tool: Pick<Tool, "name" | "readOnly" | "uses"> },
  transaction: Transaction,
  signal: () => AbortSignal,
): CallContext {
  const { uses = [] } = tool;
  const state = newCallState(tool);
  const isReadOnly = tool.readOnly === true || run.nesting?.readOnly === true;
  // With `uses` a policy's check may hold a reader's lock only.
  const mayChange = { handler: !isReadOnly, policies: !isReadOnly && tool.uses === undefined };
  const guard = callGuard(run, { call, tool: tool.name, mayChange }, state);
  let nested: NestedEvaluations | undefined;
  const { assertLive } = guard;
  const nestedOf = (): NestedEvaluations =>
    (nested ??= nestedEvaluations(run, call, transaction, signal, { assertLive, isReadOnly: guard.isReadOnly }));
  let opened: CallResources | undefined;
  // Most calls ask for nothing.
  const resourcesOf = (): CallResources => (opened ??= run.resources.forCall(calling));
  const calling: Calling = {
    transaction,
    guard,
    mode: () => (guard.isReadOnly() ? "read" : "write"),
    assertMayAsk: (key) => assertDeclared(state.asks, key),
  };
  const context: Omit<ToolContext, "signal"> & { [makeSignal]?: () => AbortSignal } = {
    callId: call.id,
    turn: run.turn,
    evaluationId: run.evaluationId,
    prompt: run.prompt,
    rendered: run.rendered,
    adapter: run.adapter,
    session: callSession(run, call, transaction, {
      assertLive,
      assertMayDispatch: () => assertMayDispatch(state, guard),
      dispatched: (result) => void (state.unread ??= []).push(result),
    }),
    resources: liveResources(() => resourcesOf().resources, assertLive),
    deadline: run.limits.deadline,
    budget: run.limits.budget,
    evaluate: <Output>(prompt: Prompt<Output> | string, options?: NestedOptions) =>
      nestedOf().evaluate(prompt, options),
  };
  // A computed key would make the literal four times slower.
  context[makeSignal] = signal;
  return {
    context: Object.freeze(Object.defineProperty(context, "signal", signalProperty)) as unknown as ToolContext,
    guard,
    openResources: () => (run.resources.makesForCalls(uses) ? resourcesOf().open(uses) : undefined),
    closeResources: () => (opened === undefined || opened.isEmpty() ? undefined : opened.close),
    beginCheck: ({ name, uses }) => void (state.asks = { name: `The policy ${name}`, uses }),
    beginHandler() {
      state.phase = "handler";
      state.asks = tool;
    },
    refused: () => state.refused ?? state.unread?.find(({ isRead }) => !isRead())?.why,
    isLive: () => state.live,
    end() {
      state.live = false;
      return nested?.end();
    },
  };
}

/** @throws {DefinitionError} for a key that is not among the declared ones. */
function assertDeclared({ name, uses }: CallState["asks"], key: ResourceKey<unknown>): void {
  if (uses === undefined || uses.includes(key)) return;
  const declared = uses.map((other) => `"${other.name}"`).join(", ") || "nothing";
  throw new DefinitionError(`${name} asks for "${key.name}" and declares ${declared}: add the key to its uses.`);
}

function newCallState({ name }: Pick<Tool, "name">): CallState {
  return { live: true, phase: "policies", asks: { name }, refused: undefined, unread: undefined };
}

/** How far a call is. */
interface CallState {
  live: boolean;
  phase: "policies" | "handler";
  /** Whose code runs, and what it may ask for. */
  asks: Pick<Tool, "name" | "uses">;
  refused: string | undefined;
  /** What became of dispatches whose reducers threw. */
  unread: UnreadResult[] | undefined;
}

/** A DispatchResult with errors: the call fails unless somebody looked at it. */
interface UnreadResult {
  isRead(): boolean;
  readonly why: string;
}

interface GuardedCall {
  readonly call: ToolCall;
  readonly tool: string;
  readonly mayChange: Readonly<Record<CallState["phase"], boolean>>;
}

function callGuard(run: Run, { call, tool, mayChange }: GuardedCall, state: CallState): CallGuard {
  return {
    isReadOnly: () => !mayChange[state.phase],
    assertLive() {
      if (!state.live)
        throw new RevokedError(`The call of ${call.name} (${call.id}) is over: its context cannot be used any more.`);
      run.nesting?.assertLive();
    },
    assertMayChange(what) {
      if (mayChange[state.phase]) return;
      state.refused ??=
        state.phase === "handler"
          ? `${tool} is read-only, but tried to change ${what}.`
          : `A policy of ${tool} tried to change ${what}, which is not locked for it: a tool that declares what it uses, or is read-only, has policies that change no resource.`;
      throw new DefinitionError(state.refused);
    },
    fail: (why) => void (state.refused ??= why),
  };
}

/** A policy may dispatch, also for a tool that is read-only. */
function assertMayDispatch({ phase }: CallState, guard: CallGuard): void {
  if (phase === "handler") guard.assertMayChange("the session");
}

function callSession(
  run: Run,
  { id: callId }: ToolCall,
  transaction: Transaction,
  state: { assertLive(): void; assertMayDispatch(): void; dispatched(failed: UnreadResult): void },
): SessionState {
  const by = { evaluationId: run.evaluationId, callId };
  const { assertLive } = state;
  return {
    id: run.core.session.id,
    dispatch(event: AppEvent) {
      assertLive();
      run.core.assertUsable();
      checkAppEvent(event);
      state.assertMayDispatch();
      const redacted = run.redact(event);
      const errors = run.core.reduce(redacted, by);
      transaction.pendingEvents.push({ event: redacted, by: run, callId });
      if (errors.length === 0) return { ok: true, errors };
      for (const error of errors)
        run.log("error", { type: event.type, callId, error: messageOf(error) }, "session.reducer.failed");
      const why = `The event "${event.type}" could not be reduced: ${errors.map(messageOf).join("; ")}`;
      const { result, isRead } = watchedResult(errors);
      state.dispatched({ isRead, why });
      return result;
    },
    get(slice) {
      assertLive();
      return run.core.session.get(slice);
    },
  };
}

/** A DispatchResult that knows whether somebody looked at it. */
function watchedResult(errors: readonly unknown[]): { readonly result: DispatchResult; isRead(): boolean } {
  let read = false;
  const result: DispatchResult = {
    get ok() {
      read = true;
      return false;
    },
    get errors() {
      read = true;
      return errors;
    },
  };
  return { result, isRead: () => read };
}

function liveResources(resources: () => Resources, assertLive: () => void): Resources {
  return {
    get(key) {
      assertLive();
      return resources().get(key);
    },
    find(key) {
      assertLive();
      return resources().find(key);
    },
    open(key) {
      const opening = openLive(resources, key, assertLive);
      // Nobody may look at it when it fails after the call.
      opening.catch(() => {});
      return opening;
    },
  };
}

async function openLive<T>(resources: () => Resources, key: ResourceKey<T>, assertLive: () => void): Promise<T> {
  assertLive();
  const opened = await resources().open(key);
  assertLive();
  return opened;
}
