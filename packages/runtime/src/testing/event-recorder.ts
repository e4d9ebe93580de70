import type { Session, SessionEvent } from "@proviso/core";

/** Grows as the session's events come. */
export function recordEvents(session: Session): readonly SessionEvent[] {
  const events: SessionEvent[] = [];
  session.on("*", (event) => events.push(event));
  return events;
}
