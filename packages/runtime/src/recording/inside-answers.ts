// 1. An evaluation inside a call is given an answer when all that the others inside that call had come to before it has come
//    again: what a handler does with several at once has the order that it had.
// 2. Nothing is waited for without end: what the record waited, and a second more, after the last thing that came.
import { systemClock, type ModelRequest } from "@proviso/core";
import type { Run } from "../run.ts";
import { RequestHashes, requestOfKey } from "./asked.ts";
import { callAround } from "./calls-again.ts";
import type { EntryOf, JournalEntry } from "./entries.ts";
import { addTo } from "./queues.ts";

type Answered = EntryOf<"answered">;

/** The place of an entry among those of the evaluations inside a call. */
interface Place {
  /** How many entries the other evaluations have before it. */
  before: readonly (readonly [evaluationId: string, count: number])[];
  /** Whether something else had happened between what the evaluation itself did and the entry. */
  isAfterOthers: boolean;
}

function placeOfCall(
  evaluationId: string,
  { turn, callId }: { readonly turn: number; readonly callId: string },
): string {
  return `${evaluationId} ${turn} ${callId}`;
}

/** When an answer is given. */
interface Given extends Place {
  /** undefined: the call had ended before, and left the evaluation behind. */
  answered: Answered | undefined;
  /** Milliseconds from the request to the answer, or to the end of the call. */
  waitedMs: number;
}

/** A request of an evaluation inside a call, as the record has it. */
interface InsideRequest extends Given {
  readonly asked: EntryOf<"asked">;
}

const never: Given = { answered: undefined, before: [], isAfterOthers: false, waitedMs: 0 };

/** Milliseconds that something is waited for beside what the record had waited. */
const patienceMs = 1_000;
/** The shortest that a timer can be: whatever waits for promises alone goes on as far as it can. */
const othersTurnMs = 1;

/** What the evaluations inside one call of the run's own evaluation came to. */
class InsideCall {
  /** Whether an evaluation inside it was aborted, as it is where the handler returns before. */
  hasAborted = false;
  /** Where the calls of evaluations inside it ended. */
  readonly ends: Map<string, Place>;
  readonly #counts = new Map<string, number>();
  readonly #open = new Map<string, InsideRequest>();
  #last: JournalEntry | undefined;

  constructor(ends: Map<string, Place>) {
    this.ends = ends;
  }

  /** Adds an entry that an evaluation comes to itself, and returns the request that it is. */
  add(entry: EntryOf<"event"> | EntryOf<"asked"> | Answered): InsideRequest | undefined {
    const { evaluationId } = entry;
    const open = this.#open.get(evaluationId);
    if (entry.kind === "answered" && open !== undefined) {
      this.#open.delete(evaluationId);
      Object.assign(open, this.#placeOf(entry), { answered: entry, waitedMs: entry.at - open.asked.at });
    }
    if (entry.kind === "event" && entry.event.type === "tool.invoked") {
      this.ends.set(placeOfCall(evaluationId, entry.event), this.#placeOf(entry));
    }
    if (entry.kind === "event" && entry.event.type === "prompt.failed")
      this.hasAborted ||= entry.event.code === "aborted";
    this.#counts.set(evaluationId, (this.#counts.get(evaluationId) ?? 0) + 1);
    this.#last = entry;
    if (entry.kind !== "asked") return undefined;
    const asked: InsideRequest = { ...never, asked: entry };
    this.#open.set(evaluationId, asked);
    return asked;
  }

  #placeOf({ evaluationId }: JournalEntry): Place {
    return {
      before: [...this.#counts].filter(([id]) => id !== evaluationId),
      isAfterOthers: this.#last?.evaluationId !== evaluationId && this.#last?.kind !== "answered",
    };
  }

  end(at: number): void {
    for (const open of this.#open.values()) open.waitedMs = at - open.asked.at;
    this.#open.clear();
  }
}

interface Inside {
  /** The requests of evaluations inside calls, by their key; each list has what comes next at its end. */
  readonly requests: ReadonlyMap<string, InsideRequest[]>;
  /** The ids of calls that evaluations inside were aborted in. */
  readonly aborting: ReadonlySet<string>;
  /** Where the calls of evaluations inside ended. */
  readonly ends: ReadonlyMap<string, Place>;
}

function readInside(entries: readonly JournalEntry[]): Inside {
  const own = entries[0]?.evaluationId;
  const requests = new Map<string, InsideRequest[]>();
  const aborting = new Set<string>();
  const ends = new Map<string, Place>();
  /** The calls that have not ended, by their id. */
  const calls = new Map<string, InsideCall>();
  const callOf = new Map<string, InsideCall>();
  for (const entry of entries) {
    const { evaluationId } = entry;
    if (entry.kind !== "event" && entry.kind !== "asked" && entry.kind !== "answered") continue;
    if (evaluationId === own) {
      if (entry.kind !== "event" || entry.event.type !== "tool.invoked") continue;
      const { callId } = entry.event;
      const ended = calls.get(callId);
      ended?.end(entry.at);
      if (ended?.hasAborted === true) aborting.add(callId);
      calls.delete(callId);
      continue;
    }
    const parent = entry.kind === "event" ? entry.event.parent : undefined;
    if (parent !== undefined && !callOf.has(evaluationId)) {
      const known = parent.evaluationId === own ? calls.get(parent.callId) : callOf.get(parent.evaluationId);
      const call = known ?? new InsideCall(ends);
      if (parent.evaluationId === own) calls.set(parent.callId, call);
      callOf.set(evaluationId, call);
    }
    const asked = callOf.get(evaluationId)?.add(entry);
    if (entry.kind === "asked" && entry.key !== undefined && asked !== undefined) {
      addTo(requests, requestOfKey(entry.key), asked);
    }
  }
  for (const list of requests.values()) list.reverse();
  return { requests, aborting, ends };
}

/** The answers of evaluations inside calls, each for the request that it was given to, in the order of the record. */
export class InsideAnswers {
  readonly #inside: Inside;
  readonly #hashes = new RequestHashes();
  /** The key of the last request, by the evaluation. */
  readonly #keys = new Map<string, string>();
  /** What each evaluation is in the record. */
  readonly #recorded = new Map<string, string>();
  /** How many entries each evaluation has come to, by its id: in the record, or while that is not known. */
  readonly #came = new Map<string, number>();
  #next = Promise.withResolvers<void>();
  #steps = 0;

  constructor(entries: readonly JournalEntry[]) {
    this.#inside = readInside(entries);
  }

  /** The answer to a request, when it is its turn; undefined: the record has none. */
  next(run: Run, request: ModelRequest | undefined): Answered | undefined | Promise<Answered | undefined> {
    this.#hashes.of(run, request);
    this.#keys.set(run.evaluationId, this.#hashes.key(run)?.request ?? "");
    const recorded = this.#queueOf(run)?.pop();
    if (recorded === undefined) {
      // The evaluation may have been stopped just before it asked.
      return this.#inside.aborting.has(callAround(run).callId) ? this.#later(run, never) : undefined;
    }
    this.#isRecordedAs(run, recorded.asked);
    this.cameTo(run);
    const { answered, isAfterOthers } = recorded;
    if (answered === undefined || isAfterOthers || !this.#isTurnOf(recorded)) return this.#later(run, recorded);
    this.cameTo(run);
    return answered;
  }

  /** Whether the record has the last request once more. */
  isAskedAgain(run: Run): boolean {
    return (this.#queueOf(run)?.length ?? 0) > 0;
  }

  /** An evaluation inside a call has come to an entry. */
  cameTo({ evaluationId }: Pick<Run, "evaluationId">): void {
    const id = this.#recorded.get(evaluationId) ?? evaluationId;
    this.#came.set(id, (this.#came.get(id) ?? 0) + 1);
    this.#steps += 1;
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers();
    resolve();
  }

  /** What a call of an evaluation inside came to, when it is its turn to end. */
  ended<T>(run: Run, callId: string, end: T | Promise<T>): T | Promise<T> {
    const id = this.#recorded.get(run.evaluationId) ?? "";
    const place = this.#inside.ends.get(placeOfCall(id, { turn: run.turn, callId }));
    if (place === undefined || place.before.length === 0) return end;
    return Promise.resolve(end).then(async (invocation) => {
      await this.#turnOf(run, () => this.#isTurnOf(place), place);
      return invocation;
    });
  }

  async #later(run: Run, recorded: Given): Promise<Answered | undefined> {
    const { answered } = recorded;
    await this.#turnOf(run, () => answered !== undefined && this.#isTurnOf(recorded), recorded);
    this.cameTo(run);
    return answered;
  }

  /** Resolves when the turn has come, or does not come. */
  async #turnOf(
    { limits }: Run,
    hasCome: () => boolean,
    of: Pick<Given, "isAfterOthers"> & Partial<Given>,
  ): Promise<void> {
    const { signal } = limits;
    const { isAfterOthers, waitedMs = 0 } = of;
    while (!signal.aborted && !hasCome()) {
      const steps = this.#steps;
      const over = new AbortController();
      const tooLong = systemClock.sleep(waitedMs + patienceMs, AbortSignal.any([signal, over.signal]));
      await Promise.race([this.#next.promise, tooLong.catch(() => {})]);
      over.abort();
      if (steps === this.#steps) break;
    }
    if (isAfterOthers) await systemClock.sleep(othersTurnMs);
  }

  #isTurnOf({ before }: Place): boolean {
    return before.every(([id, count]) => (this.#came.get(id) ?? 0) >= count);
  }

  #isRecordedAs({ evaluationId }: Run, asked: EntryOf<"asked">): void {
    if (this.#recorded.has(evaluationId)) return;
    this.#recorded.set(evaluationId, asked.evaluationId);
    this.#came.set(asked.evaluationId, this.#came.get(evaluationId) ?? 0);
  }

  #queueOf({ evaluationId }: Run): InsideRequest[] | undefined {
    return this.#inside.requests.get(this.#keys.get(evaluationId) ?? "");
  }
}
