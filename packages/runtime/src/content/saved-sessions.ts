import type { Session } from "@proviso/core";

const saved = /* @__PURE__ */ new WeakSet<Session>();

/** Marks a session that outlives the process together with its messages: the bytes of their files have to as well. */
export function markSaved(session: Session): void {
  saved.add(session);
}

export function isSaved(session: Session): boolean {
  return saved.has(session);
}
