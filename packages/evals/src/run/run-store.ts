// The store of attempts as one run uses it.
import type { Usage } from "@proviso/core";
import type { AttemptKey, AttemptRecord, EvalReport, Fingerprint } from "../results.ts";
import { ByKey } from "./by-key.ts";
import { pagesOf } from "./kept-attempts.ts";
import { nothingKept } from "./memory-store.ts";
import type { RunOptions } from "./options.ts";
import { UsageSum } from "./usage-sum.ts";

/** A store that was opened for a run: what is written is the run's, whatever else uses the store. */
export interface RunStore {
  /** What is kept of the eval. Nothing where the run wants a fresh start. */
  readonly kept: ByKey<AttemptRecord>;
  /** What a killed run had begun and not finished. */
  readonly lost: Usage;
  begin(key: AttemptKey, worstCase: Usage): Promise<void>;
  finish(record: AttemptRecord): Promise<void>;
  /** Keeps what the run came to, where the store takes that. */
  end(report: EvalReport): Promise<void>;
}

/** Opens the store of a run, and reads what it has. */
export async function openRunStore(
  { store = nothingKept, resume }: Pick<RunOptions, "store" | "resume">,
  run: { readonly name: string; readonly runId: string; readonly fingerprint: Fingerprint },
): Promise<RunStore> {
  const { runId } = run;
  const opened = await store.open(run);
  const kept = new ByKey<AttemptRecord>();
  if (resume !== "fresh") {
    for await (const page of pagesOf(opened.finished)) for (const record of page) kept.set(record, record);
  }
  const lost = new UsageSum();
  for (const usage of opened.lost) lost.add(usage);
  return {
    kept,
    lost: lost.usage,
    begin: (key, worstCase) => store.begin(key, worstCase, runId),
    finish: (record) => store.finish(record, runId),
    end: async (report) => store.end?.(report),
  };
}
