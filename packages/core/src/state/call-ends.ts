import type { FrameworkEvent } from "./events.ts";

/** Knows which ends of calls are the first: a call that was vetoed has a second one (TX-5), which says what became of it. */
export class CallEnds {
  readonly #ended = new Set<string>();

  /** Whether the event is the first end of a call. */
  isFirst(event: FrameworkEvent): boolean {
    if (event.type !== "tool.requested" && event.type !== "tool.invoked") return false;
    const call = JSON.stringify([event.evaluationId, event.turn, event.callId]);
    if (event.type === "tool.requested") {
      // An evaluation that begins again, or goes on, asks for the call again.
      this.#ended.delete(call);
      return false;
    }
    if (!event.result.success && this.#ended.has(call)) return false;
    this.#ended.add(call);
    return true;
  }
}
