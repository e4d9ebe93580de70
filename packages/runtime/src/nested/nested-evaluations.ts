import {
  DefinitionError,
  RevokedError,
  type NestedOptions,
  type Prompt,
  type PromptResponse,
  type ToolCall,
} from "@proviso/core";
import { internalsOf } from "./adapter-internals.ts";
import { onAbort } from "../abort.ts";
import type { Nesting, Run } from "../run.ts";
import type { Transaction } from "../transactions/transaction.ts";

/** The evaluations that one call begins. */
export interface NestedEvaluations {
  evaluate<Output>(prompt: Prompt<Output> | string, options?: NestedOptions): Promise<PromptResponse<Output>>;
  /** Ends those that still run; undefined where none does. */
  end(): Promise<void> | undefined;
}

export function nestedEvaluations(
  run: Run,
  call: ToolCall,
  transaction: Transaction,
  signal: () => AbortSignal,
  state: { assertLive(): void; isReadOnly(): boolean; idempotencyKey(): string },
): NestedEvaluations {
  const running = new Set<Promise<unknown>>();
  let ending: AbortController | undefined;
  let stopListening: (() => void) | undefined;
  let begun = 0;

  const nestingOf = (): Nesting => {
    if (ending === undefined) {
      const controller = new AbortController();
      ending = controller;
      stopListening = onAbort(signal(), (reason) => controller.abort(reason));
    }
    const { assertLive, isReadOnly, idempotencyKey } = state;
    begun += 1;
    return {
      ordinal: begun,
      idempotencyKey,
      run,
      callId: call.id,
      signal: ending.signal,
      transaction,
      readOnly: isReadOnly(),
      assertLive,
    };
  };
  const begin = async <Output>(
    prompt: Prompt<Output> | string,
    { adapter = run.adapter, ...options }: NestedOptions,
  ): Promise<PromptResponse<Output>> => {
    state.assertLive();
    const internals = internalsOf(adapter);
    if (internals === undefined) {
      throw new DefinitionError("An adapter inside a tool call has to be made by modelAdapter or agentAdapter.");
    }
    return internals.evaluate(prompt, options, nestingOf());
  };
  return {
    evaluate<Output>(prompt: Prompt<Output> | string, options: NestedOptions = {}) {
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
