// What the record says of the calls of a replayed run whose handlers run again.
import type { ModelRequest, ToolCall, ToolInvoked } from "@proviso/core";
import { canonicalJson } from "@proviso/core/internal";
import type { Run } from "../run.ts";
import { differenceIn, type Difference } from "./compare.ts";
import type { KeptCalls } from "./contract.ts";
import { drawnCut } from "./cut-answers.ts";
import type { EntryOf, JournalEntry } from "./entries.ts";
import { TapeFault } from "./fault.ts";
import { keptCalls } from "./kept-calls.ts";
import { Prefix } from "./prefix.ts";
import { addTo } from "./queues.ts";
import { callIdOf } from "./standing.ts";

/** A call of the run's own evaluation, as the record has it. */
export interface RecordedCall {
  readonly turn: number;
  /** What it came to; of a call that listeners refused, what it had come to before. */
  readonly end: ToolInvoked;
  /** Why listeners refused it; undefined: they did not. */
  readonly refusal: string | undefined;
  /** The application's events that it dispatched, in order. */
  readonly dispatched: readonly unknown[];
  /** Whether its handler did not begin because an earlier attempt may have done it: that does not come again. */
  readonly isUnknown: boolean;
  /** Whether a limit was met before its end, or a fork was given that: it does not come again. */
  readonly isStopped: boolean;
  /** How deep the evaluations inside it might go; undefined: to the default. */
  readonly maxDepth: number | undefined;
  /** Epoch milliseconds of its end. */
  readonly at: number;
}

/** The first difference, and the call that it is in. */
export interface CallDifference {
  readonly turn: number;
  readonly callId: string;
  readonly difference: Difference;
}

const keyOf = (turn: number, callId: string): string => canonicalJson([turn, callId]);

/** The calls of a record that have an end. */
export class RecordedCalls {
  readonly #calls = new Map<string, RecordedCall>();
  /** What calls dispatched: the lists that they have. */
  readonly #dispatched = new Map<string, unknown[]>();
  readonly #feedback = new Map<string, (readonly [provider: string, text: string])[]>();
  /** The key of the call that the last entry of the run's own evaluation is about. */
  #last = "";
  /** The idempotency keys of calls whose handlers began. */
  readonly #keys = new Map<string, string>();

  constructor(entries: readonly JournalEntry[]) {
    const own = entries[0]?.evaluationId;
    const unknown = new Set<string>();
    const stopped = new Set<number>();
    let turn = 0;
    let maxDepth: number | undefined;
    let isFixed = false;
    const isStoppedInside = stopsInside();
    for (const entry of entries) {
      const { evaluationId } = entry;
      if (evaluationId !== own) {
        if (isStoppedInside(entry)) stopped.add(turn);
        continue;
      }
      if (entry.kind === "answered") ({ turn } = entry);
      if (entry.kind === "begun" || entry.kind === "given") maxDepth = (entry.options ?? { maxDepth }).maxDepth;
      if (entry.kind !== "cancelled") {
        const callId = entry.kind === "committed" ? entry.callIds.at(-1) : callIdOf(entry);
        this.#last = keyOf(turn, callId ?? "");
      }
      if (entry.kind === "stopped") stopped.add(turn);
      if (entry.kind === "fixed") isFixed = true;
      if (entry.kind === "started") this.#keys.set(keyOf(entry.turn, entry.callId), entry.idempotencyKey);
      if (entry.kind === "event" && entry.event.type === "run.resumed") {
        for (const { callId } of entry.event.unknown) unknown.add(callId);
      }
      if (entry.kind === "dispatched" && entry.callId !== undefined) {
        this.#dispatched.get(keyOf(turn, entry.callId))?.push(entry.event);
      }
      if (entry.kind === "event" && entry.event.type === "feedback.given") {
        const { callId, provider, text } = entry.event;
        addTo(this.#feedback, keyOf(turn, callId), [provider, text]);
      }
      if (entry.kind === "event" && entry.event.type === "tool.invoked") {
        const { event } = entry;
        const isUnknown = unknown.has(event.callId) && !this.#keys.has(keyOf(event.turn, event.callId));
        const isStopped = isFixed || stopped.has(event.turn);
        this.#ended(event, { isUnknown, isStopped, maxDepth, at: entry.at });
        isFixed = false;
      }
    }
  }

  /** undefined: the record has no end of it. */
  get(turn: number, callId: string): RecordedCall | undefined {
    return this.#calls.get(keyOf(turn, callId));
  }

  /** The idempotency key of a call; undefined: its handler did not begin. */
  keyOf(turn: number, callId: string): string | undefined {
    return this.#keys.get(keyOf(turn, callId));
  }

  /** The feedback on a call. */
  feedbackOn(turn: number, callId: string): readonly (readonly [string, string])[] {
    return this.#feedback.get(keyOf(turn, callId)) ?? [];
  }

  /** Where a call differs from the recorded one; undefined: nowhere. */
  difference(
    recorded: RecordedCall,
    { end, dispatched }: { readonly end: unknown; readonly dispatched: readonly unknown[] },
  ): Difference | undefined {
    const { name } = recorded.end;
    const found = differenceIn(outcomeOf(recorded.end), outcomeOf(end));
    if (found !== undefined) return { what: "call", ...found, path: `${name}: ${found.path}` };
    // A record that ends there may have a part of what the call dispatched: it is missing what comes then.
    const { turn, callId } = recorded.end;
    const isCut = this.#last === keyOf(turn, callId);
    const now = isCut ? dispatched.slice(0, recorded.dispatched.length) : dispatched;
    const event = differenceIn(recorded.dispatched, now);
    return event && { what: "event", ...event, path: `${name}: dispatched${event.path}` };
  }

  #ended(event: ToolInvoked, of: Pick<RecordedCall, "isUnknown" | "isStopped" | "maxDepth" | "at">): void {
    const { turn, callId, result } = event;
    const before = this.get(turn, callId);
    // A success that could not be recorded is followed by its failure.
    const isRefused = before?.end.result.success === true && !result.success;
    const end = isRefused ? before.end : event;
    const refusal = isRefused ? result.message : undefined;
    const key = keyOf(turn, callId);
    const dispatched = this.#dispatched.get(key) ?? [];
    this.#dispatched.set(key, dispatched);
    this.#calls.set(key, { turn, ...of, end, refusal, dispatched });
  }
}

/**
 * Returns a function that is given each entry of evaluations inside calls, and returns whether a budget or a pace ended one
 * there in a way that does not come again: the record has why only where an answer was cut short or a request was refused.
 */
function stopsInside(): (entry: JournalEntry) => boolean {
  const shown = new Map<string, "budget" | "throttled">();
  return (entry) => {
    const { evaluationId } = entry;
    if (drawnCut(entry) !== undefined) shown.set(evaluationId, "budget");
    else if (entry.kind === "answered") {
      if (entry.answer.failure === undefined) shown.delete(evaluationId);
      else shown.set(evaluationId, "throttled");
    }
    if (entry.kind !== "event" || entry.event.type !== "prompt.failed") return false;
    const { code } = entry.event;
    return (code === "budget" || code === "throttled") && shown.get(evaluationId) !== code;
  };
}

function outcomeOf(event: unknown): unknown {
  const { name, params, result } = event as ToolInvoked;
  return { name, params, result };
}

/** The call of the run's own evaluation that an evaluation is inside. */
export function callAround(run: Run): { readonly turn: number; readonly callId: string; readonly name: string } {
  let { nesting } = run;
  while (nesting?.run.nesting?.callId !== undefined) ({ nesting } = nesting.run);
  const callId = nesting?.callId ?? "";
  const name = nesting?.run.calls.find(({ id }) => id === callId)?.name ?? "";
  return { turn: nesting?.run.turn ?? 0, callId, name };
}

/** The difference where an evaluation inside a call makes a request that the record has not. */
export function unrecordedRequest(run: Run, request: ModelRequest | undefined): CallDifference {
  const { turn, callId, name } = callAround(run);
  const path = `${name}: a request inside`;
  return { turn, callId, difference: { what: "request", path, recorded: undefined, now: lastText(request) } };
}

/** The text that a request ends with, for a message. */
function lastText(request: ModelRequest | undefined): unknown {
  const last = request?.messages.at(-1);
  return last === undefined || !("text" in last) ? "a request" : last.text;
}

/** Answers calls from the record that cannot run again. */
export async function recordedCalls(
  run: Run,
  calls: readonly ToolCall[],
  { entries, answered }: { readonly entries: readonly JournalEntry[]; readonly answered: EntryOf<"answered"> },
): Promise<KeptCalls | undefined> {
  const prefix = new Prefix(entries, { pass: () => {}, timed: () => {} });
  prefix.own.add(run.evaluationId);
  const ids = new Set(calls.map(({ id }) => id));
  const from = entries.indexOf(answered);
  // Calls of evaluations inside may have the same ids.
  const isOne = (entry: JournalEntry): boolean =>
    entry.evaluationId === run.evaluationId &&
    entry.kind === "event" &&
    "callId" in entry.event &&
    ids.has(entry.event.callId);
  const first = entries.findIndex((entry, place) => place > from && isOne(entry));
  prefix.at = first === -1 ? entries.length : first;
  const delivery = { run, isEmitted: false, delivering: new WeakSet<object>(), timed: () => {} };
  const kept = await keptCalls(run, calls, prefix, delivery);
  if (typeof kept === "object" && "fault" in kept) throw new TapeFault("state", kept.fault);
  return kept;
}
