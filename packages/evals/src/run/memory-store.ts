import type { AttemptRecord, EvalStore, Fingerprint } from "../results.ts";
import { ByKey } from "./by-key.ts";
import { KeptAttempts } from "./kept-attempts.ts";
import { isAbout } from "./kept-records.ts";
import { ownField } from "../own-field.ts";

/** A record, and the scorers that scored it. */
interface Kept {
  readonly record: AttemptRecord;
  readonly scorers: ReadonlyMap<string, string>;
}

/** Where the attempts of a run go, and the scorers that score them. */
interface OpenRun {
  readonly kept: ByKey<readonly Kept[]>;
  readonly scorers: ReadonlyMap<string, string>;
}

/**
 * Keeps attempts in memory, for runs of one process: a second run over the same store asks only what is missing. Runs may
 * use it at the same time. Nothing is ever lost: a run of this process says itself what it spent.
 */
export function memoryEvalStore(): EvalStore {
  const finished = new Map<string, ByKey<readonly Kept[]>>();
  const runs = new Map<string, OpenRun>();
  let latest: OpenRun | undefined;
  return Object.freeze<EvalStore>({
    async open({ name, runId, fingerprint }) {
      const kept = finished.get(name) ?? new ByKey<readonly Kept[]>();
      finished.set(name, kept);
      latest = { kept, scorers: new Map(Object.entries(fingerprint.scorers)) };
      runs.set(runId, latest);
      const records = [...kept.values()].flatMap((versions) =>
        versions.map((each) => currentScores(each.record, each.scorers, fingerprint)),
      );
      const page = async function* (): AsyncGenerator<readonly AttemptRecord[]> {
        if (records.length > 0) yield records;
      };
      return { finished: new KeptAttempts(page), lost: [] };
    },
    begin: () => undefined,
    finish(record, runId) {
      const run = runs.get(runId ?? "") ?? latest;
      if (run === undefined) return undefined;
      const others = (run.kept.get(record) ?? []).filter((other) => !isAbout(other.record, record));
      run.kept.set(record, [...others, { record, scorers: run.scorers }]);
      return undefined;
    },
    async close() {},
  });
}

/** Keeps nothing: the attempts of a run are in its report. */
export const nothingKept: EvalStore = Object.freeze<EvalStore>({
  open: async () => ({ finished: (async function* () {})(), lost: [] }),
  begin: () => undefined,
  finish: () => undefined,
  async close() {},
});

/** A kept record with the scores of scorers that are still the same; the run makes the others again (EVL-25). */
export function currentScores(
  record: AttemptRecord,
  kept: ReadonlyMap<string, string>,
  { scorers }: Fingerprint,
): AttemptRecord {
  const isCurrent = (name: string): boolean => kept.has(name) && kept.get(name) === ownField(scorers, name);
  if (Object.keys(record.scores).every(isCurrent)) return record;
  const scores = Object.entries(record.scores).filter(([name]) => isCurrent(name));
  return { ...record, scores: Object.fromEntries(scores) };
}
