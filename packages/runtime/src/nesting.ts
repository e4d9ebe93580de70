import type { EvaluateOptions, Prompt, PromptResponse, ProviderAdapter } from "@proviso/core";
import type { Run } from "./run.ts";
import type { Transaction } from "./transactions/transaction.ts";

/** The tool call around a nested evaluation. */
export interface Nesting {
  readonly run: Run;
  readonly callId: string;
  /** Fires when the call ends, however it does. */
  readonly signal: AbortSignal;
  readonly transaction: Transaction;
  /** The tool said that it changes nothing, so nothing inside it may. */
  readonly readOnly: boolean;
  /** @throws {RevokedError} when the call is over. */
  assertLive(): void;
}

export type Evaluator = <Output>(
  prompt: Prompt<Output>,
  options: EvaluateOptions,
  nesting: Nesting | undefined,
) => Promise<PromptResponse<Output>>;

const evaluators = new WeakMap<ProviderAdapter, Evaluator>();

export function registerEvaluator(adapter: ProviderAdapter, evaluator: Evaluator): void {
  evaluators.set(adapter, evaluator);
}

/** undefined for an adapter of other making. */
export function evaluatorOf(adapter: ProviderAdapter): Evaluator | undefined {
  return evaluators.get(adapter);
}
