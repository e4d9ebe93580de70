import { noUsage } from "@proviso/core/internal";
import type { Usage } from "@proviso/core";
import type { AttemptKey, AttemptRecord, EvalStore, Fingerprint } from "../results.ts";

/** A record, and the scorers that scored it. */
interface Kept {
  readonly record: AttemptRecord;
  readonly scorers: ReadonlyMap<string, string>;
}

/** Keeps attempts in memory, for runs of one process: a second run over the same store asks only what is missing. */
export function memoryEvalStore(): EvalStore {
  const finished = new Map<string, Map<string, Kept>>();
  const begun = new Map<string, Map<string, Usage>>();
  let name = "";
  let scorers: ReadonlyMap<string, string> = new Map();
  const recordsOf = (): Map<string, Kept> => finished.get(name) ?? new Map<string, Kept>();
  return Object.freeze<EvalStore>({
    async open(run) {
      ({ name } = run);
      scorers = new Map(Object.entries(run.fingerprint.scorers));
      if (!finished.has(name)) finished.set(name, new Map());
      const lost = [...(begun.get(name)?.values() ?? [])];
      begun.set(name, new Map());
      const records = [...recordsOf().values()].map((kept) =>
        currentScores(kept.record, kept.scorers, run.fingerprint),
      );
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

/** A kept record with the scores of scorers that are still the same; the run makes the others again (EVL-25). */
export function currentScores(
  record: AttemptRecord,
  kept: ReadonlyMap<string, string>,
  { scorers }: Fingerprint,
): AttemptRecord {
  const names = Object.keys(record.scores);
  const isCurrent = (name: string): boolean => kept.has(name) && kept.get(name) === scorers[name];
  if (names.every(isCurrent)) return record;
  const scores = Object.entries(record.scores).filter(([name]) => isCurrent(name));
  return { ...record, scores: Object.fromEntries(scores) };
}

/** Names an attempt by one text. The length keeps two names apart that are one when they are joined. */
export function keyOf({ rowId, variant, repetition }: AttemptKey): string {
  return `${rowId.length} ${repetition} ${rowId}${variant}`;
}
