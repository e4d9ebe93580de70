// What a run has done and spent so far.
import type { Clock, Usage } from "@proviso/core";
import { addUsage, noUsage } from "@proviso/core/internal";
import type { AttemptRecord } from "../results.ts";
import type { EarlyLooks } from "./early-looks.ts";
import type { Lanes } from "./lanes.ts";
import { callListener, type RunOptions } from "./options.ts";
import type { Records } from "./records.ts";
import { isUnscored } from "../report/unscored.ts";

interface Counted {
  readonly clock: Clock;
  readonly lanes: Lanes;
  readonly records: Records;
  readonly looks: EarlyLooks | undefined;
  readonly onProgress: RunOptions["onProgress"];
  /** How many attempts there are. */
  readonly total: number;
}

/** The counts of a run, which its listener receives. */
export class Tally {
  readonly #of: Counted;
  readonly startedAt: number;
  spent = noUsage;
  lost = noUsage;
  reused = 0;
  #failed = 0;
  #unscored = 0;

  constructor(of: Counted) {
    this.#of = of;
    this.startedAt = of.clock.now();
  }

  /** Adds what was spent. Most judges are functions, which spend nothing. */
  spend(usage: Usage): void {
    if (usage !== noUsage) this.spent = addUsage(this.spent, usage);
  }

  /** Gives an attempt that there is to the report and the looks at the gates, and counts it. */
  take(place: number, record: AttemptRecord): void {
    const { records, looks } = this.#of;
    records.set(place, record);
    if (record.status === "failed") this.#failed += 1;
    if (isUnscored(record)) this.#unscored += 1;
    looks?.add(record);
  }

  /** Takes an attempt whose answer an earlier run was given. */
  reuse(place: number, record: AttemptRecord): void {
    this.reused += 1;
    this.take(place, record);
  }

  /** Calls the listener. */
  readonly progress = (): void => {
    const { onProgress, clock, records, total, lanes } = this.#of;
    if (onProgress === undefined) return;
    const done = records.size;
    const elapsedMs = clock.now() - this.startedAt;
    const now = done - this.reused;
    callListener(onProgress, {
      done,
      total,
      reused: this.reused,
      failed: this.#failed,
      unscored: this.#unscored,
      spent: this.spent,
      elapsedMs,
      leftMs: now === 0 ? undefined : Math.round((elapsedMs / now) * (total - done)),
      pace: lanes.perSecond(),
    });
  };
}
