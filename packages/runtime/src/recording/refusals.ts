// What listeners refused of calls: it is refused again where those run again.
import type { FrameworkEvent, ToolInvoked } from "@proviso/core";
import { canonicalJson, isFrameworkEventType } from "@proviso/core/internal";
import type { Run } from "../run.ts";
import type { JournalEntry } from "./entries.ts";
import { addTo } from "./queues.ts";

/** Finds the call of the run's own evaluation that an event belongs to, in the order of events. */
class Around {
  readonly #own: string;
  readonly #calls = new Map<string, string>();
  #turn = 0;

  constructor(own: string) {
    this.#own = own;
  }

  /** undefined: it is inside no call. */
  of(event: FrameworkEvent): string | undefined {
    const { evaluationId, parent } = event;
    if (evaluationId === this.#own) {
      if (event.type === "tool.requested") this.#turn = event.turn;
      return undefined;
    }
    const known = this.#calls.get(evaluationId);
    if (known !== undefined || parent === undefined) return known;
    const isOwn = parent.evaluationId === this.#own;
    const call = isOwn ? canonicalJson([this.#turn, parent.callId]) : this.#calls.get(parent.evaluationId);
    if (call !== undefined) this.#calls.set(evaluationId, call);
    return call;
  }
}

/** Why a success of a call inside was refused; undefined: it was not. */
type Refusal = string | undefined;

/** The successes of calls inside other calls, in their order, by what they were. */
class InsideRefusals {
  readonly #successes = new Map<string, { refusal: Refusal }[]>();
  readonly #around: Around;

  constructor(entries: readonly JournalEntry[]) {
    const own = entries[0]?.evaluationId ?? "";
    this.#around = new Around(own);
    const around = new Around(own);
    /** The success of a call that may be refused yet, by evaluation and call. */
    const open = new Map<string, { refusal: Refusal }>();
    for (const entry of entries) {
      if (entry.kind !== "event") continue;
      const { event } = entry;
      const call = around.of(event);
      if (call === undefined || event.type !== "tool.invoked") continue;
      const id = canonicalJson([event.evaluationId, event.callId]);
      const before = open.get(id);
      open.delete(id);
      if (event.result.success) {
        const success = { refusal: undefined };
        open.set(id, success);
        addTo(this.#successes, keyOf(call, event), success);
      } else if (before !== undefined) before.refusal = event.result.message;
    }
  }

  /** Takes in the next event. Returns why it was refused. */
  of(event: FrameworkEvent): Refusal {
    const call = this.#around.of(event);
    if (call === undefined || event.type !== "tool.invoked" || !event.result.success) return undefined;
    return this.#successes.get(keyOf(call, event))?.shift()?.refusal;
  }
}

function keyOf(call: string, { name, params }: ToolInvoked): string {
  return canonicalJson([call, name, params]);
}

/**
 * Makes an evaluation that runs recorded calls again refuse the results that listeners refused when they were recorded.
 * `refusalOf` returns why a listener refused the result of one of its own calls; undefined: none did.
 */
export function refuseAgain(
  { core, evaluationId }: Run,
  entries: readonly JournalEntry[],
  refusalOf: (turn: number, callId: string) => Refusal,
): void {
  const inside = new InsideRefusals(entries);
  core.session.on("*", (given) => {
    if (!isFrameworkEventType(given.type)) return;
    const event = given as FrameworkEvent;
    const isOwn = event.evaluationId === evaluationId && event.type === "tool.invoked" && event.result.success;
    const within = inside.of(event);
    const refusal = isOwn ? refusalOf(event.turn, event.callId) : within;
    if (refusal !== undefined) throw new Error(refusal.replace(/^.*? could not be recorded: /s, ""));
  });
}
