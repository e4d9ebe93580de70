import type { Session, SessionEvent, Slice } from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { coreOf } from "../session/session-core.ts";
import { createSession } from "../session/session.ts";

/**
 * Makes a new session and reduces its state from recorded events; no listener receives them again. What was undone after a
 * listener had received it is in this state, and what a call dispatched is reduced after its `tool.invoked`, in the order
 * in which listeners receive them. The record of a run has the state as it was.
 */
export function replayEvents(
  events: readonly SessionEvent[],
  options: { readonly slices: readonly Slice[]; readonly id?: string | undefined },
): Session {
  checkOptionNames("replayEvents", options, { slices: true, id: true });
  const session = createSession(options);
  const core = coreOf(session);
  for (const event of events) core.reduce(event);
  return session;
}
