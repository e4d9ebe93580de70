// What the evaluations inside the calls of a run came to, as its record has it.
import { requestOfKey } from "./asked.ts";
import { drawnCut } from "./cut-answers.ts";
import type { EntryOf, JournalEntry } from "./entries.ts";
import { InsideOrder } from "./inside-order.ts";
import { addTo, taken } from "./queues.ts";

type Answered = EntryOf<"answered">;
type What = "request" | "answer" | "tool.requested" | "tool.invoked" | "end";
type CallEvent = { readonly type: "tool.requested" | "tool.invoked"; readonly turn: number; readonly callId: string };

/** Something that comes when all before it has come. */
export interface Turn {
  readonly place: number;
  /** The place that it waits for: calls of one turn that ended together end with the first of them. */
  readonly from: number;
  /** Milliseconds that it came after what its evaluation had come to before. */
  readonly waitedMs: number;
  /** Whether something of another evaluation is next before it that is no answer: the handler may have gone on by that. */
  readonly isAfterOthers: boolean;
}

/** What an evaluation inside a call was answered. */
export interface InsideAnswer extends Turn {
  readonly entry: Answered;
  /** Why a budget cut it short, as plain JSON; undefined: none did. */
  cut: unknown;
}

/** A request of an evaluation inside a call. */
export interface InsideRequest {
  readonly evaluation: InsideEvaluation;
  readonly place: number;
  /** undefined: the call had ended before, and left the evaluation behind. */
  answer: InsideAnswer | undefined;
  /** Milliseconds from the request to the end of the call, where that came first. */
  waitedMs: number;
}

export function keyOfCall({ type, turn, callId }: CallEvent): string {
  return `${type} ${turn} ${callId}`;
}

/** What happened inside one call of the run's own evaluation. */
class InsideCall {
  readonly order = new InsideOrder();
  /** Whether an evaluation inside it was aborted, as it is where the handler returns before. */
  hasAborted = false;
  readonly open = new Set<InsideRequest & { readonly at: number }>();
  /** When it ends: all that it had left behind comes to before, comes before. undefined: the record has no end of it. */
  ends: Turn | undefined;
  readonly #beganAt: number;
  #places = 0;
  #last: (Omit<Turn, "waitedMs"> & { readonly of: InsideEvaluation; readonly what: What }) | undefined;

  constructor(beganAt: number) {
    this.#beganAt = beganAt;
  }

  next(of: InsideEvaluation, what: What): Omit<Turn, "waitedMs"> {
    const last = this.#last;
    const place = this.#places++;
    const isTogether = last?.of === of && last.what === "tool.invoked" && what === last.what;
    const isAfterOthers = last !== undefined && last.of !== of && last.what !== "answer" && what !== "end";
    const next = isTogether
      ? { place, from: last.from, isAfterOthers: last.isAfterOthers }
      : { place, from: place, isAfterOthers };
    this.#last = { ...next, of, what };
    return next;
  }

  end(at: number): void {
    for (const request of this.open) request.waitedMs = at - request.at;
    this.open.clear();
    const place = this.#places;
    // What handlers of an evaluation that is aborted then have come to stands when they have gone on.
    this.ends = { place, from: place, waitedMs: at - this.#beganAt, isAfterOthers: this.hasAborted };
  }
}

/** An evaluation inside a call. One that asked for nothing has no place: nothing says which one it is. */
export class InsideEvaluation {
  readonly id: string;
  readonly call: InsideCall;
  /** When its calls begin and end, by `keyOfCall`; each list has what comes next at its end. */
  readonly turns = new Map<string, Turn[]>();
  wasAborted = false;
  hasEnded = false;
  /** When it ends; undefined: the record has no end of it, it asked for nothing, or it was aborted, which comes of something else. */
  end: Turn | undefined;
  #hasAsked = false;
  readonly #places: number[] = [];
  #came = 0;
  /** The place of what it began last, a request or a call, or of an answer. */
  #lastBegun = -1;
  #lastAt: number;
  /** The calls that have failed since it came to anything else: it may be that they were stopped. */
  #failed: string[] = [];
  #open: (InsideRequest & { readonly at: number }) | undefined;
  #answer: InsideAnswer | undefined;

  constructor(id: string, call: InsideCall, beganAt: number) {
    this.id = id;
    this.call = call;
    this.#lastAt = beganAt;
  }

  /** The evaluation has come to a place, or is past it; left out: it has ended. */
  cameTo(place = Infinity): void {
    for (let next = this.#places[this.#came]; next !== undefined && next <= place; next = this.#places[this.#came]) {
      this.#came += 1;
      this.call.order.came(next);
    }
  }

  /** Whether it was aborted before it came to anything after a place. */
  isAbortedAfter(place: number): boolean {
    return this.wasAborted && this.#places.at(-1) === place;
  }

  /** A call's handler has ended. Where the evaluation was aborted before it had anything more, the call ends with the others. */
  handled({ place }: Turn): void {
    if (this.wasAborted && place > this.#lastBegun) this.call.order.came(place);
  }

  asked({ at }: EntryOf<"asked">): InsideRequest {
    this.#hasAsked = true;
    const { place } = this.#next(at, "request");
    const request = { evaluation: this, place, answer: undefined, waitedMs: 0, at };
    this.#open = request;
    this.call.open.add(request);
    return request;
  }

  answered(entry: Answered): void {
    const open = this.#open;
    // What comes after its end is given to no handler.
    this.#answer = undefined;
    if (open === undefined || this.hasEnded || !this.call.open.delete(open)) return;
    this.#open = undefined;
    this.#answer = open.answer = { ...this.#next(entry.at, "answer"), entry, cut: undefined };
  }

  wasCut(cut: unknown): void {
    if (this.#answer !== undefined) this.#answer.cut = cut;
  }

  called(event: CallEvent, at: number, isFailure: boolean): void {
    if (!this.#hasAsked) return;
    addTo(this.turns, keyOfCall(event), this.#next(at, event.type));
    if (isFailure) this.#failed.push(keyOfCall(event));
    else this.#failed = [];
  }

  ended(at: number, isAborted: boolean): void {
    this.hasEnded = true;
    if (!isAborted) {
      if (this.#hasAsked) this.end = this.#next(at, "end");
      return;
    }
    this.wasAborted = true;
    this.call.hasAborted = true;
    for (const key of this.#failed) taken(this.turns.get(key) ?? []);
    for (const place of this.#places.splice(this.#places.length - this.#failed.length)) this.call.order.came(place);
  }

  #next(at: number, what: What): Turn {
    const next = this.call.next(this, what);
    const waitedMs = at - this.#lastAt;
    this.#lastAt = at;
    if (what === "answer" || what === "request") this.#failed = [];
    if (what !== "tool.invoked" && what !== "end") this.#lastBegun = next.place;
    this.#places.push(next.place);
    return { ...next, waitedMs };
  }
}

/** What is inside the calls of a run. */
export interface InsideRecord {
  /** The requests of evaluations inside calls, by their key; each list has what comes next at its end. */
  readonly requests: ReadonlyMap<string, InsideRequest[]>;
  /** The ids of calls that evaluations inside were aborted in. */
  readonly aborting: ReadonlySet<string>;
  /** The calls of the run's own evaluation that have others inside, by `keyOfCall` of their end. */
  readonly ended: ReadonlyMap<string, Pick<InsideCall, "order" | "ends">>;
}

export function readInside(entries: readonly JournalEntry[]): InsideRecord {
  const own = entries[0]?.evaluationId;
  const requests = new Map<string, InsideRequest[]>();
  const aborting = new Set<string>();
  const endedCalls = new Map<string, InsideCall>();
  /** The calls that have not ended, by their id. */
  const calls = new Map<string, InsideCall>();
  /** The last one of each id. */
  const evaluations = new Map<string, InsideEvaluation>();
  const all: InsideEvaluation[] = [];
  for (const entry of entries) {
    const { evaluationId, at } = entry;
    if (entry.kind === "event") {
      const { event } = entry;
      const { parent } = event;
      if (evaluationId === own) {
        if (event.type !== "tool.invoked") continue;
        const ended = calls.get(event.callId);
        if (ended === undefined) continue;
        ended.end(at);
        if (ended.hasAborted) aborting.add(event.callId);
        endedCalls.set(keyOfCall(event), ended);
        calls.delete(event.callId);
      } else if (parent !== undefined) {
        const isFirst = parent.evaluationId === own;
        const call =
          (isFirst ? calls.get(parent.callId) : evaluations.get(parent.evaluationId)?.call) ?? new InsideCall(at);
        if (isFirst) calls.set(parent.callId, call);
        const isEnd = event.type === "prompt.executed" || event.type === "prompt.failed";
        let evaluation = evaluations.get(evaluationId);
        // A process that goes on with seeded ids gives one again.
        const isAnother = evaluation?.hasEnded === true && (event.type === "prompt.rendered" || isEnd);
        if (evaluation === undefined || isAnother) {
          evaluation = new InsideEvaluation(evaluationId, call, at);
          evaluations.set(evaluationId, evaluation);
          all.push(evaluation);
        }
        if (event.type === "tool.requested") evaluation.called(event, at, false);
        if (event.type === "tool.invoked") evaluation.called(event, at, !event.result.success);
        if (!isEnd) continue;
        evaluation.ended(at, event.type === "prompt.failed" && event.code === "aborted");
      }
    } else if (entry.kind === "asked" && entry.key !== undefined) {
      const asked = evaluations.get(evaluationId)?.asked(entry);
      if (asked !== undefined) addTo(requests, requestOfKey(entry.key), asked);
    } else if (entry.kind === "answered") evaluations.get(evaluationId)?.answered(entry);
    else if (drawnCut(entry) !== undefined) evaluations.get(evaluationId)?.wasCut(drawnCut(entry));
  }
  const turns = all.flatMap((evaluation) => [...evaluation.turns.values()]);
  for (const list of [...requests.values(), ...turns]) list.reverse();
  return { requests, aborting, ended: endedCalls };
}
