import {
  DefinitionError,
  RevokedError,
  type AppEvent,
  type Prompt,
  type PromptResponse,
  type Resources,
  type SessionState,
  type Tool,
  type ToolCall,
  type ToolContext,
} from "@proviso/core";
import { onAbort } from "../limits.ts";
import { evaluatorOf, type Nesting } from "../nesting.ts";
import { changesFiles, guarded } from "../resources/guard.ts";
import type { Run } from "../run.ts";
import { checkAppEvent } from "../session/session.ts";
import { createGate } from "./gate.ts";
import type { Transaction } from "./transaction.ts";

/** What one call may use while it lasts. */
export interface CallContext {
  readonly context: ToolContext;
  /** The handler's turn: what a read-only one may not change is refused from here on. */
  beginHandler(): void;
  /** What a read-only handler tried all the same. */
  readonly refused: string | undefined;
  /** From here on every use raises and changes nothing; resolves when evaluations inside have ended too. */
  end(): Promise<void> | undefined;
}

interface Guards {
  assertLive(): void;
  /** @throws {DefinitionError} in a read-only handler. */
  assertMayChange(what: string): void;
}

export function callContext(
  run: Run,
  { call, tool }: { readonly call: ToolCall; readonly tool: Tool },
  transaction: Transaction,
  resources: Resources,
  signal: AbortSignal,
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
  const nested = nestedEvaluations(run, call, transaction, signal, {
    assertLive: guards.assertLive,
    isReadOnly: () => readOnly,
  });
  const context: ToolContext = {
    callId: call.id,
    turn: run.turn,
    evaluationId: run.evaluationId,
    prompt: run.prompt,
    rendered: run.rendered,
    adapter: run.adapter,
    session: callSession(run, transaction, guards),
    resources: callResources(resources, guards),
    deadline: run.limits.deadline,
    budget: run.limits.budget,
    signal,
    evaluate: nested.evaluate,
  };
  return {
    context: Object.freeze(context),
    beginHandler: () => void (readOnly = tool.readOnly === true || run.nesting?.readOnly === true),
    get refused() {
      return refused;
    },
    end() {
      live = false;
      return nested.end();
    },
  };
}

function callSession(run: Run, transaction: Transaction, { assertLive, assertMayChange }: Guards): SessionState {
  return {
    id: run.core.session.id,
    dispatch(event: AppEvent) {
      assertLive();
      run.core.assertUsable();
      checkAppEvent(event);
      assertMayChange("the session");
      const told = run.redact(event);
      const errors = run.core.reduce(told);
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

function nestedEvaluations(
  run: Run,
  call: ToolCall,
  transaction: Transaction,
  signal: AbortSignal,
  state: { assertLive(): void; isReadOnly(): boolean },
): { readonly evaluate: ToolContext["evaluate"]; end(): Promise<void> | undefined } {
  const running = new Set<Promise<unknown>>();
  const gate = createGate();
  let ending: AbortController | undefined;
  let stopListening: (() => void) | undefined;

  const nestingOf = (): Nesting => {
    if (ending === undefined) {
      const controller = new AbortController();
      ending = controller;
      stopListening = onAbort(signal, (reason) => controller.abort(reason));
    }
    const { assertLive, isReadOnly } = state;
    return { run, callId: call.id, signal: ending.signal, transaction, gate, readOnly: isReadOnly(), assertLive };
  };
  const begin = async <Output>(
    prompt: Prompt<Output>,
    { adapter = run.adapter, ...options }: NonNullable<Parameters<ToolContext["evaluate"]>[1]>,
  ): Promise<PromptResponse<Output>> => {
    state.assertLive();
    const evaluate = evaluatorOf(adapter);
    if (evaluate === undefined) {
      throw new DefinitionError("An adapter inside a tool call has to be made by modelAdapter or agentAdapter.");
    }
    return evaluate(prompt, options, nestingOf());
  };
  return {
    evaluate<Output>(prompt: Prompt<Output>, options: Parameters<ToolContext["evaluate"]>[1] = {}) {
      const evaluation = begin(prompt, options);
      running.add(evaluation);
      const forget = (): void => void running.delete(evaluation);
      // A handler may never look at it.
      evaluation.then(forget, forget);
      return evaluation;
    },
    end() {
      stopListening?.();
      if (running.size === 0) return undefined;
      ending?.abort(new RevokedError(`The call of ${call.name} (${call.id}) is over.`));
      return Promise.allSettled(running).then(() => {});
    },
  };
}
