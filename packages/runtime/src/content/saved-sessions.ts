import type { Session } from "@proviso/core";

const saved = /* @__PURE__ */ new WeakSet<Session>();

/** Marks a session that outlives the process together with its messages: the bytes of their files have to as well. */
export function markSaved(session: Session): void {
  saved.add(session);
}

const answeredAgain = /* @__PURE__ */ new WeakSet<Session>();

/** Marks the session of a conversation whose evaluation is answered from a turn that it has: it stays as it is. */
export function markAnsweredAgain(session: Session): void {
  answeredAgain.add(session);
}

/** Whether the evaluation that has ended was answered so; the next one is not. */
export function takeAnsweredAgain(session: Session): boolean {
  return answeredAgain.delete(session);
}

export function isSaved(session: Session): boolean {
  return saved.has(session);
}
