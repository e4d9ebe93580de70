import type { Session, SessionEvent, Slice } from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { coreOf, createSession } from "../session/session.ts";

/** A new session, its state reduced from events that were recorded; nobody hears them again. */
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
