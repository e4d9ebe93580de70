// 1. Only local errors are offered: what a model or its provider did has been retried inside, or must bubble.
// 2. Policies are asked in order; the first that does not bubble wins. A policy that is at fault ends the run.
// 3. At most `maxRecoveries` retries in one run.
import {
  DefinitionError,
  errorReason,
  type EvaluationFailure,
  type ListenerError,
  type ProcessError,
  type PromptRenderError,
  type Schema,
} from "@proviso/core";
import { describeValue, describeIssues, parseWithSchema } from "@proviso/core/internal";
import { thrownText } from "./result.ts";

/** Errors of this side of the wire: a payload that is none, a listener that threw, a local command that ended badly. */
export type RecoverableError = PromptRenderError | ListenerError | ProcessError;

const recoverable = {
  PromptRenderError: "render_error",
  ListenerError: "listener_error",
  ProcessError: "process_error",
} as const satisfies Record<RecoverableError["name"], string>;

/** The name of an error's class, or its reason. */
export type RecoverableName = keyof typeof recoverable | (typeof recoverable)[keyof typeof recoverable];

/**
 * Run again with another payload; or answer with this data, which the output's schema takes as a model's answer; or let
 * it bubble. A literal in data wants `as const`: TypeScript widens it before it knows the output.
 */
export type RecoveryDecision<Answer> =
  | {
      /** The text for the model when it is asked again. */
      readonly retry: string;
    }
  | {
      /** The answer that `run` returns in place of the failure. */
      readonly data: Answer;
    }
  | "bubble";

/** What to do about an attempt that failed for a local reason, in place of failing the run. */
export interface RecoveryPolicy<Answer> {
  /** The failures that the policy is asked about. */
  readonly on: readonly RecoverableName[];
  /** Decides synchronously, and equally for equal arguments. `attempt` counts the evaluations of this run, from 1. */
  recover(error: RecoverableError, payload: unknown, attempt: number): RecoveryDecision<Answer>;
}

/** An attempt that failed. */
export interface Failed {
  readonly error: EvaluationFailure;
  /** The payload is none. */
  readonly isUnsendable?: boolean;
}

/** What becomes of a failed attempt. */
export type Recovery<Output> =
  | { readonly kind: "retry"; readonly payload: string }
  | { readonly kind: "data"; readonly data: Output }
  | { readonly kind: "bubble"; readonly fault?: DefinitionError };

/** @throws {DefinitionError} for a policy that is none, or that names what always bubbles. */
export function checkedPolicies(given: unknown): readonly RecoveryPolicy<unknown>[] {
  if (!Array.isArray(given)) throw new DefinitionError("The option recovery must be a list of { on, recover }.");
  const names = new Set<unknown>(Object.entries(recoverable).flat());
  return Object.freeze(
    given.map((policy: Partial<RecoveryPolicy<unknown>> | null, index) => {
      const { on, recover } = policy ?? {};
      if (!Array.isArray(on) || on.length === 0 || typeof recover !== "function") {
        throw new DefinitionError(
          `recovery[${index}] must be { on: ["render_error"], recover(error, payload, attempt) }.`,
        );
      }
      const wrong = on.filter((name) => !names.has(name));
      if (wrong.length > 0) {
        throw new DefinitionError(
          `recovery[${index}] names ${wrong.map(describeValue).join(", ")}: only ${[...names].join(", ")} can be recovered from; ` +
            "everything else was retried inside, or bubbles at once.",
        );
      }
      return Object.freeze({ on: Object.freeze([...on]), recover });
    }),
  );
}

/** Never rejects: what is wrong with a policy comes back as its fault. */
export async function recoveryFrom<Output>(
  policies: readonly RecoveryPolicy<unknown>[],
  schema: Schema<unknown, Output>,
  failed: Failed & { readonly payload: unknown; readonly attempt: number },
): Promise<Recovery<Output>> {
  const { error, isUnsendable = false, payload, attempt } = failed;
  // What the run was given beside its payload will never do.
  if (!isRecoverable(error) || (error.name === "PromptRenderError" && !isUnsendable)) return { kind: "bubble" };
  const reason = recoverable[error.name];
  for (const [index, policy] of policies.entries()) {
    if (!policy.on.includes(error.name) && !policy.on.includes(reason)) continue;
    try {
      const taken = await taking(policy.recover(error, payload, attempt), schema);
      if (taken.kind !== "bubble") return taken;
    } catch (cause) {
      const fault = new DefinitionError(`recovery[${index}] failed: ${thrownText(cause)}`, { cause });
      return { kind: "bubble", fault };
    }
  }
  return { kind: "bubble" };
}

/** @throws {DefinitionError} for what is no decision, and for data that does not fit. */
async function taking<Output>(
  decision: RecoveryDecision<unknown>,
  schema: Schema<unknown, Output>,
): Promise<Recovery<Output>> {
  if (decision === "bubble") return { kind: "bubble" };
  if (typeof decision === "object" && decision !== null && "retry" in decision) {
    return { kind: "retry", payload: decision.retry };
  }
  if (typeof decision === "object" && decision !== null && "data" in decision) {
    const checked = await parseWithSchema(schema, decision.data);
    if (checked.ok) return { kind: "data", data: checked.value };
    throw new DefinitionError(`its data does not fit the output: ${describeIssues(checked.issues, checked.unlisted)}`);
  }
  throw new DefinitionError(`it must return { retry }, { data } or "bubble", not ${describeValue(decision)}`);
}

function isRecoverable(error: EvaluationFailure): error is RecoverableError {
  return Object.values<unknown>(recoverable).includes(errorReason(error));
}
