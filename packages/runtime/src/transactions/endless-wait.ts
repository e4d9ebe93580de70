import { failure, type Failure } from "../failures.ts";
import type { Holder } from "./lock.ts";

/** A wait that would never end: it is not begun. */
export function endlessWait(waitedFor: string, heldBy: string, holder: Holder): Failure {
  const message = `A wait for ${waitedFor} would never end: it is held by ${heldBy}, ${whyEndless[holder]}.`;
  return failure({ stop: "deadlock", phase: "tool", waitedFor, heldBy, message });
}

const whyEndless: Readonly<Record<Holder, string>> = {
  call: "in whose code this begins. Inside a tool, evaluate with context.evaluate: its calls pass the locks of the call",
  body:
    "in whose body this begins as part of the call around it. In the body, evaluate with adapter.evaluate over its session " +
    "and resources: that is part of the transaction; or use context.evaluate before or after it",
  other:
    "which waits for this one in turn. Use what both need in the same order, or let the outer calls declare it with uses",
};
