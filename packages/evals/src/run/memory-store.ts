import type { AttemptKey, AttemptRecord, EvalStore, Fingerprint } from "../results.ts";
import { ownField } from "../own-field.ts";

/** A record, and the scorers that scored it. */
interface Kept {
  readonly record: AttemptRecord;
  readonly scorers: ReadonlyMap<string, string>;
}

/** Where the attempts of a run go, and the scorers that score them. */
interface OpenRun {
  readonly kept: Map<string, Kept>;
  readonly scorers: ReadonlyMap<string, string>;
}

/**
 * Keeps attempts in memory, for runs of one process: a second run over the same store asks only what is missing. Runs may
 * use it at the same time. Nothing is ever lost: a run of this process says itself what it spent.
 */
export function memoryEvalStore(): EvalStore {
  const finished = new Map<string, Map<string, Kept>>();
  const runs = new Map<string, OpenRun>();
  let latest: OpenRun | undefined;
  return Object.freeze<EvalStore>({
    async open({ name, runId, fingerprint }) {
      const kept = finished.get(name) ?? new Map<string, Kept>();
      finished.set(name, kept);
      latest = { kept, scorers: new Map(Object.entries(fingerprint.scorers)) };
      runs.set(runId, latest);
      const records = [...kept.values()].map((each) => currentScores(each.record, each.scorers, fingerprint));
      return {
        finished: (async function* () {
          yield* records;
        })(),
        lost: [],
      };
    },
    async begin() {},
    async finish(record, runId) {
      const run = runs.get(runId ?? "") ?? latest;
      run?.kept.set(keyOf(record), { record, scorers: run.scorers });
    },
    async close() {},
  });
}

/** Keeps nothing: the attempts of a run are in its report. */
export const nothingKept: EvalStore = Object.freeze<EvalStore>({
  open: async () => ({ finished: (async function* () {})(), lost: [] }),
  async begin() {},
  async finish() {},
  async close() {},
});

/** A kept record with the scores of scorers that are still the same; the run makes the others again (EVL-25). */
export function currentScores(
  record: AttemptRecord,
  kept: ReadonlyMap<string, string>,
  { scorers }: Fingerprint,
): AttemptRecord {
  const names = Object.keys(record.scores);
  const isCurrent = (name: string): boolean => kept.has(name) && kept.get(name) === ownField(scorers, name);
  if (names.every(isCurrent)) return record;
  const scores = Object.entries(record.scores).filter(([name]) => isCurrent(name));
  return { ...record, scores: Object.fromEntries(scores) };
}

/** Names an attempt by one text. The length keeps two names apart that are one when they are joined. */
export function keyOf({ rowId, variant, repetition }: AttemptKey): string {
  return `${rowId.length} ${repetition} ${rowId}${variant}`;
}
