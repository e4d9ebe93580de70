// The store of attempts that all runs of a search share.
import type { EvalStore } from "../results.ts";
import { memoryEvalStore } from "../run/memory-store.ts";
import type { RunOptions } from "../run/options.ts";

/** What a search makes itself is used again in its next run, also where it is to use nothing of earlier searches. */
export function sharedStore({ store, resume }: RunOptions): Pick<RunOptions, "store" | "resume"> {
  if (resume !== "fresh") return { store: store ?? memoryEvalStore(), resume };
  return { store: store === undefined ? memoryEvalStore() : withoutEarlier(store), resume: "resume" };
}

/** A store that keeps all, and returns what was kept through it alone. */
function withoutEarlier(store: EvalStore): EvalStore {
  const own = memoryEvalStore();
  return {
    async open(run) {
      const { lost } = await store.open(run);
      const { finished } = await own.open(run);
      return { finished, lost };
    },
    begin: (key, worstCase, runId) => store.begin(key, worstCase, runId),
    finish(record, runId) {
      void own.finish(record, runId);
      return store.finish(record, runId);
    },
    end: async (report) => store.end?.(report),
    close: () => store.close(),
  };
}
