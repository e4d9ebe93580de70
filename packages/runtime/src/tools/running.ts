// What our own packages ask about the call that a context belongs to.
import { DefinitionError, type ToolContext } from "@proviso/core";
import type { Run } from "../run.ts";
import type { Secrets } from "../secrets.ts";
import type { CallKey } from "./idempotency-key.ts";

/** The place of its call in a context. */
export const running = Symbol("running");

/** A context that the runtime made. */
export interface OfRunning {
  readonly [running]?: {
    readonly of: { readonly run: Run; readonly signal: () => AbortSignal };
    callKey(): CallKey;
  };
}

/**
 * Has `end` called when the evaluation of a call ends.
 * @throws {DefinitionError} for a context that the runtime did not make.
 */
export function atEvaluationEnd(context: ToolContext, end: () => Promise<void>): void {
  const run = runOf(context);
  run.endings = [...(run.endings ?? []), end];
}

/**
 * The evaluation of a call: the same object for all of its calls, and no other's. Its id is no such thing, as forks and
 * replays of one run have that of their origin.
 * @throws {DefinitionError} for a context that the runtime did not make.
 */
export function evaluationOf(context: ToolContext): object {
  return runOf(context);
}

/** The secrets that no cut of a text may go through; undefined: there are none, or the runtime did not make the context. */
export function secretsOf(context: ToolContext | undefined): Secrets | undefined {
  return (context as OfRunning | undefined)?.[running]?.of.run.world.secrets;
}

function runOf(context: ToolContext): Run {
  const call = (context as OfRunning)[running];
  if (call === undefined) throw new DefinitionError("The context is not one that a tool's handler was given.");
  return call.of.run;
}
