import { failure, type Failure } from "../failures.ts";
import { whoHoldsAround, type Holder } from "./lock.ts";
import type { LockOwner, WantedLock } from "./lock-state.ts";

/** A lock with the words for it in messages. */
export interface NamedLock extends WantedLock {
  readonly what: string;
}

/**
 * A lock among these that the transaction can never have, since the one in whose code it begins holds it: then it waits for
 * none. While it waited, the one around would wait with it, and others would be refused as if they were to blame.
 */
export function endlessAmong(owner: LockOwner, locks: readonly NamedLock[]): Failure | undefined {
  for (const { what, ...wanted } of locks) {
    const around = whoHoldsAround(owner, wanted);
    if (around !== undefined) return endlessWait(what, around.heldBy, around.holder);
  }
  return undefined;
}

/** A wait that would never end: it is not begun. */
export function endlessWait(waitedFor: string, heldBy: string, holder: Holder): Failure {
  const message = `A wait for ${waitedFor} would never end: it is held by ${heldBy}, ${whyEndless[holder]}.`;
  return failure({ stop: "deadlock", phase: "tool", waitedFor, heldBy, message });
}

/** A wait for the file of a run that would never end: what is around the evaluation has a transaction open there. */
export function endlessWaitForFile(run: string, heldBy: string): Failure {
  const waitedFor = "the file of the journal";
  const message =
    `The run "${run}" would wait for ever for the file of its journal: ${heldBy}, in whose code its evaluation begins, ` +
    "has a transaction open there. Evaluate it before or after that, in a journal of another file, or without a run.";
  return failure({ stop: "deadlock", phase: "request", waitedFor, heldBy, message });
}

const whyEndless: Readonly<Record<Holder, string>> = {
  call: "in whose code this begins. Inside a tool, evaluate with context.evaluate: its calls pass the locks of the call",
  body:
    "in whose body this begins as part of the call around it. In the body, evaluate with adapter.evaluate over its session " +
    "and resources: that is part of the transaction; or use context.evaluate before or after it",
  attempt:
    "which may begin again and waits for the code in which this begins. Give that a session and resources of its own, or a " +
    "prompt without tools",
  other:
    "which waits for this one in turn. Use what both need in the same order, or let the outer calls declare it with uses",
};

/** Why a handler did not get a resource that it asked for late. */
export class LockFault extends Error {
  override readonly name = "LockFault";
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}
