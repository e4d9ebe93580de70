// Undoing is the runtime's own: a mark is opened before a call or an attempt, and rolled back where that was undone.
import type { SessionCore, SessionMark } from "@proviso/runtime/internal";

/** The marks of a run's session, for what may yet be undone: calls, and attempts of evaluations that may begin again. */
export class RunMarks {
  readonly #core: SessionCore;
  readonly #calls = new Map<string, SessionMark>();
  /** Taken before the end of a call that succeeded: a veto takes its entries out of logs, too. */
  readonly #ends = new Map<string, SessionMark>();
  readonly #attempts = new Map<string, SessionMark>();

  constructor(core: SessionCore) {
    this.#core = core;
  }

  openCall(evaluationId: string, callId: string): void {
    this.closeCall(evaluationId, callId);
    this.#calls.set(keyOf(evaluationId, callId), this.#opened(evaluationId));
  }

  openEnd(evaluationId: string, callId: string): void {
    this.#ends.set(keyOf(evaluationId, callId), this.#opened(evaluationId, "all"));
  }

  undoCall(evaluationId: string, callId: string): void {
    const key = keyOf(evaluationId, callId);
    for (const mark of [this.#ends.get(key), this.#calls.get(key)]) {
      if (mark !== undefined) this.#core.rollback(mark, new Set([callId]));
    }
    this.closeCall(evaluationId, callId);
  }

  closeCall(evaluationId: string, callId: string): void {
    this.#close(keyOf(evaluationId, callId));
  }

  beginAttempt(evaluationId: string): void {
    this.endAttempt(evaluationId);
    this.#attempts.set(evaluationId, this.#opened(evaluationId));
  }

  /** The state is as it was when the attempt began. */
  undoAttempt(evaluationId: string): void {
    this.#closeCalls(evaluationId);
    const mark = this.#attempts.get(evaluationId);
    if (mark !== undefined) this.#core.rollback(mark);
    this.endAttempt(evaluationId);
  }

  endAttempt(evaluationId: string): void {
    this.#closeIn(this.#attempts, evaluationId);
  }

  /** The evaluation is over. */
  closeAll(evaluationId: string): void {
    this.#closeCalls(evaluationId);
    this.endAttempt(evaluationId);
  }

  #opened(evaluationId: string, which?: "all"): SessionMark {
    const mark = this.#core.mark(which);
    this.#core.open(mark, evaluationId);
    return mark;
  }

  #closeCalls(evaluationId: string): void {
    for (const key of this.#calls.keys()) if (key.startsWith(`${evaluationId} `)) this.#close(key);
  }

  #close(key: string): void {
    this.#closeIn(this.#ends, key);
    this.#closeIn(this.#calls, key);
  }

  #closeIn(marks: Map<string, SessionMark>, key: string): void {
    const mark = marks.get(key);
    if (mark !== undefined) this.#core.close(mark);
    marks.delete(key);
  }
}

function keyOf(evaluationId: string, callId: string): string {
  return `${evaluationId} ${callId}`;
}
