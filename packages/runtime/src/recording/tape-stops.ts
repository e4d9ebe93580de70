// The limits that end a recorded evaluation: where they were met is in its record.
import type { EvaluateOptions, Usage } from "@proviso/core";
import type { Failure } from "../failures.ts";
import type { Limits } from "../limits.ts";
import type { Run } from "../run.ts";
import type { EntryContent } from "./entries.ts";
import { TapeCalls } from "./tape-calls.ts";
import { RecordedLimits, restoredFailure, savedFailure, type Asked, type LimitRecord } from "./tape-limits.ts";
import { countedUnanswered, spentBefore } from "./unanswered.ts";

export class TapeStops extends TapeCalls implements LimitRecord {
  protected budget: EvaluateOptions["budget"];
  /** What requests without an answer cost in earlier attempts; undefined: nothing. */
  protected readonly unansweredSoFar = this.opened.unanswered ?? countedUnanswered(this.opened.entries);
  /** Whether the evaluation's own budget has what earlier attempts spent. */
  #isCharged = false;
  /** Whether calls overlap that are not recorded yet, and the limit that was met meanwhile. */
  #overlapping = false;
  #stoppedThem: EntryContent | undefined;

  /** Wraps the limits of the run's own evaluation, and those of each summary of its history. */
  limits(limits: Limits): Limits {
    return new RecordedLimits(limits, this);
  }

  get isShared(): boolean {
    return this.budget !== undefined && "reserve" in this.budget;
  }

  goesOn(): boolean {
    return !this.isLive && this.prefix.hasMore();
  }

  takeStop(by: Asked): Failure | undefined {
    const entry = this.isLive ? undefined : this.prefix.nextStop(by);
    if (entry?.produced !== undefined) this.turn?.hasProduced(entry.produced);
    return entry && restoredFailure(entry.failure);
  }

  spentBefore(): Usage | undefined {
    if (this.#isCharged || this.isReplay || this.isShared || this.budget === undefined) return undefined;
    this.#isCharged = true;
    return spentBefore(this.opened.entries, this.prefix.own, this.unansweredSoFar);
  }

  recordStop(by: Asked, why: Failure): void {
    // A limit that only ends the wait for closing is not recorded.
    if (this.fault !== undefined || this.main === undefined || this.main.ended || this.isStopped) return;
    this.isStopped = true;
    if (!this.isLive) return;
    const of = this.turn === undefined ? {} : { produced: this.turn.produced() };
    const content = { kind: "stopped", by, failure: savedFailure(why), ...of } as const;
    // What has ended by itself stands, and is recorded when the slowest has ended: the limit comes behind it.
    if (this.#overlapping) this.#stoppedThem = content;
    else this.append(this.evaluationId, content);
  }

  callsOverlap(run: Run): void {
    if (!run.isInside) this.#overlapping = !this.isInTurn;
  }

  stops(run: Run, stop?: Failure): void {
    // What a turn's own failure has stopped has met no limit.
    if (run.isInside || this.turn?.hasFailed() === true) return;
    // An evaluation inside the call, or its handler, may have met the limit first.
    if (stop?.stop === "deadline" || stop?.stop === "aborted" || stop?.stop === "budget") this.recordStop("race", stop);
    const content = this.#stoppedThem;
    [this.#overlapping, this.#stoppedThem] = [false, undefined];
    if (content !== undefined) this.append(this.evaluationId, content);
  }
}
