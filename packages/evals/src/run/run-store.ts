// The store of attempts as one run uses it.
import type { Usage } from "@proviso/core";
import { addUsage, noUsage } from "@proviso/core/internal";
import type { AttemptKey, AttemptRecord, EvalReport, Fingerprint } from "../results.ts";
import { keyOf } from "../attempt-key.ts";
import { nothingKept } from "./memory-store.ts";
import type { RunOptions } from "./options.ts";

/** A store that was opened for a run: what is written is the run's, whatever else uses the store. */
export interface RunStore {
  /** What is kept of the eval, by `keyOf`. Nothing where the run wants a fresh start. */
  readonly kept: ReadonlyMap<string, AttemptRecord>;
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
  const kept = new Map<string, AttemptRecord>();
  if (resume !== "fresh") for await (const record of opened.finished) kept.set(keyOf(record), record);
  return {
    kept,
    lost: opened.lost.reduce((sum, usage) => addUsage(sum, usage), noUsage),
    begin: (key, worstCase) => store.begin(key, worstCase, runId),
    finish: (record) => store.finish(record, runId),
    end: async (report) => store.end?.(report),
  };
}
