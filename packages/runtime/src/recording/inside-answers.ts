// What a handler that runs again does with several evaluations at once has the order that it had: of each evaluation inside a
// call the answers are given, and the calls begin and end, when all has come again that the record has before that, of any
// evaluation inside the same call.
import { systemClock, type FrameworkEvent, type ModelRequest, type ToolCall } from "@proviso/core";
import { after } from "@proviso/core/internal";
import type { Failure } from "../failures.ts";
import type { Run } from "../run.ts";
import { RequestHashes } from "./asked.ts";
import { callAround } from "./calls-again.ts";
import { restoredCut } from "./cut-answers.ts";
import type { EntryOf, JournalEntry } from "./entries.ts";
import { patienceMs } from "./inside-order.ts";
import {
  keyOfCall,
  readInside,
  type InsideEvaluation,
  type InsideRecord,
  type InsideRequest,
  type Turn,
} from "./inside-record.ts";
import { taken } from "./queues.ts";

type Answered = EntryOf<"answered">;

/** The shortest that a timer can be: whatever waits for promises alone goes on as far as it can. */
const othersTurnMs = 1;

/** The answers of evaluations inside calls, each for the request that it was given to, in the order of the record. */
export class InsideAnswers {
  readonly #inside: InsideRecord;
  readonly #hashes = new RequestHashes();
  /** The key of the last request, by the evaluation. */
  readonly #keys = new Map<string, string>();
  /** What each evaluation is in the record, from its first request on. */
  readonly #recorded = new Map<string, InsideEvaluation>();
  /** Why a budget cut the last answer of an evaluation short. */
  readonly #cuts = new Map<string, unknown>();
  #steps = 0;

  constructor(entries: readonly JournalEntry[]) {
    this.#inside = readInside(entries);
  }

  /** The answer to a request, when it is its turn; undefined: the record has none. */
  next(run: Run, request: ModelRequest | undefined): Answered | undefined | Promise<Answered | undefined> {
    this.#steps += 1;
    this.#hashes.of(run, request);
    this.#keys.set(run.evaluationId, this.#hashes.key(run)?.request ?? "");
    const recorded = taken(this.#queueOf(run) ?? []);
    if (recorded === undefined) {
      // The evaluation may have been stopped just before it asked.
      return this.#inside.aborting.has(callAround(run).callId) ? this.#leftBehind(run, 0) : undefined;
    }
    const { evaluation, answer, place, waitedMs } = recorded;
    this.#recorded.set(run.evaluationId, evaluation);
    evaluation.cameTo(place);
    if (answer === undefined) return this.#leftBehind(run, waitedMs);
    const given = (): Answered | Promise<Answered> => {
      evaluation.cameTo(answer.place);
      this.#cuts.set(run.evaluationId, answer.cut);
      if (!evaluation.isAbortedAfter(answer.place)) return answer.entry;
      return this.#leftBehind(run, 0).then(() => answer.entry);
    };
    return this.#whenIts(run, evaluation.call, answer)?.then(given) ?? given();
  }

  /** Why the last answer is not whole, with its text; undefined: no budget is the reason. */
  cut({ evaluationId }: Run, text: string | undefined): Failure | undefined {
    const cut = this.#cuts.get(evaluationId);
    return cut === undefined ? undefined : restoredCut(cut, text);
  }

  /** Whether the record has the last request once more. */
  isAskedAgain(run: Run): boolean {
    return (this.#queueOf(run)?.length ?? 0) > 0;
  }

  /** An evaluation inside a call has emitted an event. */
  emitted({ evaluationId }: Pick<Run, "evaluationId">, event: FrameworkEvent): void {
    this.#steps += 1;
    const evaluation = this.#recorded.get(evaluationId);
    if (event.type === "tool.requested" || event.type === "tool.invoked") {
      const turn = taken(evaluation?.turns.get(keyOfCall(event)) ?? []);
      if (turn !== undefined) evaluation?.cameTo(turn.place);
    }
  }

  /** Resolves when it is the turn of an evaluation inside to end; undefined: it is. */
  over(run: Run): Promise<void> | undefined {
    this.#steps += 1;
    const evaluation = this.#recorded.get(run.evaluationId);
    const turn = this.#whenIts(run, evaluation?.call, evaluation?.end);
    if (turn !== undefined) return turn.then(() => evaluation?.cameTo());
    evaluation?.cameTo();
    return undefined;
  }

  /** Resolves when it is the turn of calls of an evaluation inside to begin, and with that to wait for locks; undefined: it is. */
  beginning(run: Run, calls: readonly ToolCall[]): Promise<undefined> | undefined {
    // Calls that overlap begin together.
    const evaluation = this.#recorded.get(run.evaluationId);
    const turns = calls.map(({ id }) => turnOfCall(run, evaluation, "tool.requested", id));
    const first = turns.find((turn) => turn !== undefined);
    const isKnown = first !== undefined || calls.some(({ id }) => turnOfCall(run, evaluation, "tool.invoked", id));
    // The evaluation was aborted just before they began.
    if (!isKnown && evaluation?.wasAborted === true) return this.#leftBehind(run, 0);
    return this.#whenIts(run, evaluation?.call, first)?.then(() => undefined);
  }

  /** What a call came to, when it is its turn to end: that stops what it has left behind. */
  ended<T>(run: Run, callId: string, end: T | Promise<T>): T | Promise<T> {
    return after(end, (invocation) => {
      const ending = run.isInside ? this.#endingInside(run, callId) : this.#ending(run, callId);
      return ending?.then(() => invocation) ?? invocation;
    });
  }

  #ending(run: Run, callId: string): Promise<void> | undefined {
    this.#steps += 1;
    const call = this.#inside.ended.get(keyOfCall({ type: "tool.invoked", turn: run.turn, callId }));
    return this.#whenIts(run, call, call?.ends);
  }

  #endingInside(run: Run, callId: string): Promise<void> | undefined {
    const evaluation = this.#recorded.get(run.evaluationId);
    const turn = turnOfCall(run, evaluation, "tool.invoked", callId);
    if (turn === undefined) return evaluation?.wasAborted === true ? this.#leftBehind(run, 0) : undefined;
    const waiting = this.#whenIts(run, evaluation?.call, turn);
    if (waiting !== undefined) return waiting.then(() => evaluation?.handled(turn));
    evaluation?.handled(turn);
    return undefined;
  }

  /** Resolves when all before it has come, or a limit ends the evaluation; undefined: nothing has to be waited for. */
  #whenIts(
    run: Run,
    call: Pick<InsideEvaluation["call"], "order"> | undefined,
    turn: Turn | undefined,
  ): Promise<void> | undefined {
    if (call === undefined || turn === undefined) return undefined;
    const { order } = call;
    const { from, waitedMs, isAfterOthers } = turn;
    const waiting = order.turnOf(from, waitedMs);
    if (waiting === undefined && !isAfterOthers) return undefined;
    return (async () => {
      if (waiting !== undefined) await run.limits.race(waiting, "tool");
      order.leave(from);
      if (isAfterOthers) await systemClock.sleep(othersTurnMs);
    })();
  }

  /** Waits for the end of the call, which stops what it leaves behind. Where it does not come, a request is a difference. */
  async #leftBehind({ limits: { signal } }: Run, waitedMs: number): Promise<undefined> {
    let steps: number | undefined;
    while (!signal.aborted && steps !== this.#steps) {
      steps = this.#steps;
      await systemClock.sleep(waitedMs + patienceMs, signal).catch(() => {});
    }
  }

  #queueOf({ evaluationId }: Run): InsideRequest[] | undefined {
    return this.#inside.requests.get(this.#keys.get(evaluationId) ?? "");
  }
}

function turnOfCall(
  { turn }: Run,
  evaluation: InsideEvaluation | undefined,
  type: "tool.requested" | "tool.invoked",
  callId: string,
): Turn | undefined {
  return evaluation?.turns.get(keyOfCall({ type, turn, callId }))?.at(-1);
}
