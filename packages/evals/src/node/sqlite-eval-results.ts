// The runs in a file of attempts, to look at: it is opened read-only, and other processes may write to it meanwhile.
import { DefinitionError, type AttemptView, type EvalView } from "@proviso/core";
import { columnsOf, lifeOf, pragmaOf, sqliteModule, type Owner } from "@proviso/node/internal";
import type { DatabaseSync } from "node:sqlite";
import { scorerHash } from "../define/define-eval.ts";
import type { EvalReport } from "../results.ts";
import { attemptView, viewOf, type ShownEval } from "./eval-results.ts";
import { isAttempt, parsed } from "./sqlite-eval-json.ts";
import { applicationId } from "./sqlite-eval-file.ts";

/** What is kept of a run that ended: its report without the attempts, and the ids of its rows in their order. */
export interface KeptResult {
  readonly report: Omit<EvalReport, "attempts">;
  readonly rowIds: readonly string[];
}

/** Whether it is a file of attempts. */
export function isEvalFile(database: DatabaseSync): boolean {
  return pragmaOf(database, "application_id") === applicationId;
}

/** Opens a file to read. @throws SQLite's error where it is no database. */
export function openedToRead(path: string): DatabaseSync {
  return new (sqliteModule().DatabaseSync)(path, { readOnly: true });
}

interface RunRow {
  readonly id: number;
  readonly scorers: string;
  readonly name: string;
  readonly runId: string;
  readonly owner: string;
  readonly startedAt: string | null;
  readonly result: string | null;
}

/** Returns the runs in a file, the newest first. */
export function runsIn(database: DatabaseSync): readonly ShownEval[] {
  const hasResults = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'eval_results'").get() !== undefined;
  const from = hasResults
    ? "started_at, result FROM eval_runs r LEFT JOIN eval_results s ON s.run = r.id"
    : "NULL, NULL FROM eval_runs r";
  const rows = database.prepare(`SELECT r.id, r.scorers, r.name, r.run_id, r.owner, ${from} ORDER BY r.id DESC`).all();
  return rows.map((row) => {
    const [id, scorers, name, runId, owner, startedAt, result] = columnsOf(row);
    return shownRun(database, { id, scorers, name, runId, owner, startedAt, result } as RunRow);
  });
}

function shownRun(database: DatabaseSync, run: RunRow): ShownEval {
  const kept = run.result === null ? undefined : parsed<KeptResult>(run.result);
  if (kept === undefined) return unfinished(database, run);
  const view = viewOf(kept.report);
  return {
    view,
    attempts() {
      const [rows, variants] = [placesOf(kept.rowIds), placesOf(view.variants)];
      const place = (of: AttemptView): number =>
        (rows.get(of.rowId) ?? 0) * variants.size + (variants.get(of.variant) ?? 0);
      return attemptsUntil(database, run)
        .filter((of) => rows.has(of.rowId) && variants.has(of.variant) && of.repetition <= view.repetitions)
        .toSorted((a, b) => place(a) - place(b) || a.repetition - b.repetition);
    },
  };
}

function placesOf(names: readonly string[]): ReadonlyMap<string, number> {
  return new Map(names.map((name, place) => [name, place]));
}

/** A run that has no report: it is running, or was stopped. What it has made itself is shown. */
function unfinished(database: DatabaseSync, run: RunRow): ShownEval {
  const distinct = (column: string): readonly string[] =>
    database
      .prepare(`SELECT DISTINCT ${column} FROM eval_attempts WHERE run = ? ORDER BY id`)
      .all(run.id)
      .map((row) => String(columnsOf(row)[0]));
  const [rowIds, variants] = [distinct("row_id"), distinct("variant")];
  const view: EvalView = {
    name: run.name,
    runId: run.runId,
    startedAt: run.startedAt ?? "",
    status: lifeOf(parsed<Owner>(run.owner)) === "dead" ? "stopped" : "running",
    rows: rowIds.length,
    variants,
    repetitions: 1,
    baseline: { variant: variants[0] ?? "" },
    ranges: plainRanges(run.scorers),
    scores: {},
    differences: {},
    gates: [],
  };
  const places = placesOf(rowIds);
  const place = ({ rowId }: AttemptView): number => places.get(rowId) ?? 0;
  return {
    view,
    attempts: () =>
      database
        .prepare("SELECT json_remove(record, '$.output') FROM eval_attempts WHERE run = ? ORDER BY id")
        .all(run.id)
        .map(shownRow)
        .toSorted((a, b) => place(a) - place(b)),
  };
}

/** The ranges of scorers without a range and a version of their own: of others a file has the hash alone. */
function plainRanges(scorers: string): NonNullable<EvalView["ranges"]> {
  const plain = parsed<readonly [string, string][]>(scorers).filter(([, hash]) => hash === plainHash);
  return Object.fromEntries(plain.map(([scorer]) => [scorer, [0, 1] as const]));
}

const plainHash = scorerHash(() => 0);

/** The newest attempts by key when the run was the newest one: those that it made, and those that it had kept. */
function attemptsUntil(database: DatabaseSync, { id, name }: RunRow): readonly AttemptView[] {
  return database
    .prepare(
      `SELECT json_remove(record, '$.output') FROM eval_attempts WHERE id IN (
         SELECT max(id) FROM eval_attempts WHERE name = ? AND run <= ? GROUP BY row_id, variant, repetition)`,
    )
    .all(name, id)
    .map(shownRow);
}

function shownRow(row: object): AttemptView {
  const record = parsed(columnsOf(row)[0]);
  if (isAttempt(record)) return attemptView(record);
  throw new DefinitionError("The file of attempts is damaged: one of its records is no attempt.");
}
