import { canonicalJson, noUsage } from "@proviso/core/internal";
import type { Usage } from "@proviso/core";
import type { AttemptKey, AttemptRecord, EvalStore } from "../results.ts";

/** A record, and the scorers that scored it. */
interface Kept {
  readonly record: AttemptRecord;
  readonly scorers: string;
}

/** Keeps attempts in memory, for runs of one process: a second run over the same store asks only what is missing. */
export function memoryEvalStore(): EvalStore {
  const finished = new Map<string, Map<string, Kept>>();
  const begun = new Map<string, Map<string, Usage>>();
  let name = "";
  let scorers = "";
  const recordsOf = (): Map<string, Kept> => finished.get(name) ?? new Map<string, Kept>();
  return Object.freeze<EvalStore>({
    async open(run) {
      ({ name } = run);
      scorers = canonicalJson(run.fingerprint.scorers);
      if (!finished.has(name)) finished.set(name, new Map());
      const lost = [...(begun.get(name)?.values() ?? [])];
      begun.set(name, new Map());
      // Scores of other scorers do not count: such attempts are made again.
      const records = [...recordsOf().values()].filter((kept) => kept.scorers === scorers).map(({ record }) => record);
      return {
        finished: (async function* () {
          yield* records;
        })(),
        lost,
      };
    },
    async begin(key, worstCase = noUsage) {
      begun.get(name)?.set(keyOf(key), worstCase);
    },
    async finish(record) {
      begun.get(name)?.delete(keyOf(record));
      recordsOf().set(keyOf(record), { record, scorers });
    },
    async close() {},
  });
}

export function keyOf({ rowId, variant, repetition }: AttemptKey): string {
  return JSON.stringify([rowId, variant, repetition]);
}
