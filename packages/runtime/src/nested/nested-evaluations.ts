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
import { BegunEvaluations } from "../transactions/begun-evaluations.ts";
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
  const inside = new BegunEvaluations();
  let stopListening: (() => void) | undefined;
  let begun = 0;

  const nestingOf = (): Nesting => {
    stopListening ??= onAbort(signal(), (reason) => inside.abort(reason));
    const { assertLive, isReadOnly, idempotencyKey } = state;
    begun += 1;
    return {
      ordinal: begun,
      idempotencyKey,
      run,
      callId: call.id,
      signal: inside.signal,
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
      inside.add(evaluation);
      return evaluation;
    },
    end() {
      stopListening?.();
      if (inside.isEmpty) return undefined;
      inside.abort(new RevokedError(`The call of ${call.name} (${call.id}) is over.`));
      return inside.settled();
    },
  };
}
