// The store of attempts as one run uses it.
import type { Usage } from "@proviso/core";
import { addUsage, noUsage } from "@proviso/core/internal";
import { bounded, closingMs, Unsettled, type Bounds } from "../bounded.ts";
import type { AttemptKey, AttemptRecord, EvalReport, Fingerprint } from "../results.ts";
import type { PlannedAttempt } from "./attempt.ts";
import { pagesOf } from "./kept-attempts.ts";
import { KeptRecords } from "./kept-records.ts";
import { nothingKept } from "./memory-store.ts";
import type { RunOptions } from "./options.ts";

/**
 * A store that was opened for a run: what is written is the run's, whatever else uses the store. What it does not settle in
 * the time of an attempt, or in 10 s after the run was aborted, rejects with `Unsettled`.
 */
export interface RunStore {
  /** What is kept of the eval. Nothing where the run wants a fresh start. */
  readonly kept: KeptRecords;
  /** What a killed run had begun and not finished. */
  readonly lost: Usage;
  /** undefined: it is kept at once. */
  begin(key: AttemptKey, worstCase: Usage): Promise<void> | undefined;
  /** undefined: it is kept at once. */
  finish(record: AttemptRecord): Promise<void> | undefined;
  /** Keeps what the run came to, where the store takes that. */
  end(report: EvalReport): Promise<void>;
}

/** Opens the store of a run, and reads what it has of what is planned. Where an abort ends that, nothing is kept. */
export async function openRunStore(
  { store = nothingKept, resume }: Pick<RunOptions, "store" | "resume">,
  run: { readonly name: string; readonly runId: string; readonly fingerprint: Fingerprint },
  { bounds, planned }: { readonly bounds: Bounds; readonly planned: readonly Pick<PlannedAttempt, "subjectHash">[] },
): Promise<RunStore> {
  const { runId } = run;
  const waiting = new StoreWaits(bounds);
  const kept = new KeptRecords(new Set(planned.map(({ subjectHash }) => subjectHash)));
  let lost = noUsage;
  try {
    const opened = await waiting.for(store.open(run));
    lost = opened.lost.reduce(addUsage, noUsage);
    if (resume !== "fresh") {
      const pages = pagesOf(opened.finished)[Symbol.asyncIterator]();
      for (;;) {
        const page = await waiting.for(pages.next());
        if (page.done === true) break;
        for (const record of page.value) kept.add(record);
      }
    }
  } catch (error) {
    if (!(error instanceof Unsettled && error.why === "aborted")) throw error;
  }
  const waited = (writing: Promise<void> | undefined): Promise<void> | undefined => writing && waiting.for(writing);
  return {
    kept,
    lost,
    begin: (key, worstCase) => waited(store.begin(key, worstCase, runId)),
    finish: (record) => waited(store.finish(record, runId)),
    async end(report) {
      if (!waiting.isGivenUp) await waited(store.end?.(report));
    },
  };
}

/** Waits for a store. One that did not settle once is given up. */
class StoreWaits {
  readonly #bounds: Bounds;
  isGivenUp = false;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** An abort leaves it a moment: what was answered and paid for is worth keeping. @throws {Unsettled} */
  async for<T>(work: PromiseLike<T>): Promise<T> {
    const { clock, ms } = this.#bounds;
    try {
      return await bounded(work, this.#bounds).catch((error: unknown) => {
        if (!isAbort(error)) throw error;
        return bounded(work, { clock, ms: Math.min(ms, closingMs) }).catch((late: unknown) => {
          throw late instanceof Unsettled ? error : late;
        });
      });
    } catch (error) {
      if (!(error instanceof Unsettled)) throw error;
      this.isGivenUp = true;
      throw new Unsettled(error.why, `The store of attempts: ${error.message}`);
    }
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Unsettled && error.why === "aborted";
}
