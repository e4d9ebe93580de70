// What a run has done and spent so far.
import type { Clock } from "@proviso/core";
import { noUsage } from "@proviso/core/internal";
import type { AttemptRecord } from "../results.ts";
import type { EarlyLooks } from "./early-looks.ts";
import type { Expected } from "./expected.ts";
import type { Lanes } from "./lanes.ts";
import { callListener, type RunOptions } from "./options.ts";
import type { Records } from "./records.ts";
import { isUnscored } from "./scoring.ts";
import { UsageSum } from "./usage-sum.ts";

interface Counted {
  readonly clock: Clock;
  readonly lanes: Lanes;
  readonly records: Records;
  readonly expected: Expected;
  readonly looks: EarlyLooks | undefined;
  readonly onProgress: RunOptions["onProgress"];
  /** How many attempts there are. */
  readonly total: number;
}

/** The counts of a run, which its listener receives. */
export class Tally {
  readonly #of: Counted;
  readonly startedAt: number;
  readonly spent = new UsageSum();
  lost = noUsage;
  reused = 0;
  #failed = 0;
  #unscored = 0;

  constructor(of: Counted) {
    this.#of = of;
    this.startedAt = of.clock.now();
  }

  /** Counts an attempt that there is. */
  count(place: number, record: AttemptRecord): void {
    const { records, expected, looks } = this.#of;
    records.set(place, record);
    expected.add(record);
    if (record.status === "failed") this.#failed += 1;
    if (isUnscored(record)) this.#unscored += 1;
    looks?.add(record);
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
      spent: this.spent.usage,
      elapsedMs,
      leftMs: now === 0 ? undefined : Math.round((elapsedMs / now) * (total - done)),
      pace: lanes.perSecond(),
    });
  };
}
