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
import { changesFiles, guarded } from "../resources/guard.ts";
import type { Run } from "../run.ts";
import { checkAppEvent } from "../session/session.ts";
import { nestedEvaluations, type NestedEvaluations } from "./nested-evaluations.ts";
import type { Transaction } from "./transaction.ts";

/** What one call may use while it lasts. */
export interface CallContext {
  readonly context: ToolContext;
  /** The handler's turn: what a read-only one may not change is refused from here on. */
  beginHandler(): void;
  /** What a read-only handler tried all the same. */
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

interface Guards {
  assertLive(): void;
  /** @throws {DefinitionError} in a read-only handler. */
  assertMayChange(what: string): void;
}

export function callContext(
  run: Run,
  { call, tool }: { readonly call: ToolCall; readonly tool: Pick<Tool, "name" | "readOnly"> },
  transaction: Transaction,
  resources: Resources,
  signal: () => AbortSignal,
): CallContext {
  let live = true;
  let readOnly = false;
  let refused: string | undefined;
  const guards: Guards = {
    assertLive() {
      if (!live)
        throw new RevokedError(`The call of ${call.name} (${call.id}) is over: its context cannot be used any more.`);
      run.nesting?.assertLive();
    },
    assertMayChange(what) {
      if (!readOnly) return;
      refused ??= `${tool.name} is read-only, but tried to change ${what}.`;
      throw new DefinitionError(refused);
    },
  };
  let nested: NestedEvaluations | undefined;
  const { assertLive } = guards;
  const nestedOf = (): NestedEvaluations =>
    (nested ??= nestedEvaluations(run, call, transaction, signal, { assertLive, isReadOnly: () => readOnly }));
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
    beginHandler: () => void (readOnly = tool.readOnly === true || run.nesting?.readOnly === true),
    refused: () => refused,
    isLive: () => live,
    end() {
      live = false;
      return nested?.end();
    },
  };
}

function callSession(
  run: Run,
  { id: callId }: ToolCall,
  transaction: Transaction,
  { assertLive, assertMayChange }: Guards,
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

function callResources(resources: Resources, { assertLive, assertMayChange }: Guards): Resources {
  const assertAllowed = (method: string): void => {
    assertLive();
    if (changesFiles(method)) assertMayChange("a file");
  };
  return {
    get(key) {
      assertLive();
      return guarded(resources.get(key), assertAllowed);
    },
    find(key) {
      assertLive();
      return guarded(resources.find(key), assertAllowed);
    },
    async open(key) {
      assertLive();
      const opened = await resources.open(key);
      assertLive();
      return guarded(opened, assertAllowed);
    },
  };
}
