// Runs as they are committed: ids, hashes and scores, one row a line.
import { DefinitionError } from "@proviso/core";
import { contentHash, describeValue } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import { failedOutside } from "../scores/outside.ts";
import { rowsOf } from "../judges/labels.ts";
import type { AttemptRecord, EvalReport, Fingerprint, SavedRun } from "../results.ts";
import { rounding } from "../statistics/estimate.ts";
import type { Baseline } from "./baseline.ts";
import type { RowValue, RowValues } from "./view.ts";
import { scorerHash, scorerOf, type AnyDefinition } from "../define/define-eval.ts";
import { ownField } from "../own-field.ts";

const format = "proviso-eval/1";

/** A saved row of one variant: its mean score by scorer. */
interface SavedRow {
  readonly id: string;
  readonly hash: string;
  readonly variant: string;
  /** The mean scores, by scorer; null: not known, because the scorer failed. */
  readonly scores: Readonly<Record<string, number | null>>;
  /** The share of its attempts that failed because of their surroundings. Left out: none. */
  readonly outside?: number;
  /** The mean scores of those, by scorer. Left out, in a file of an earlier version: the worst ones. */
  readonly outsideScores?: Readonly<Record<string, number>>;
  /** The first digits of the hash of its group, or of its id where only others have one. Left out: no row has one, or groups are not known. */
  readonly group?: string;
}

interface Saved extends SavedRun {
  readonly name: string;
  readonly runId: string;
  readonly startedAt: string;
  readonly fingerprint: Fingerprint;
  readonly repetitions: number;
  /** The ranges of the scorers. Left out, in a file of an earlier version, or where groups are not known: there are no intervals. */
  readonly ranges?: Readonly<Record<string, readonly [worst: number, best: number]>>;
  readonly rows: readonly SavedRow[];
}

/** Returns a run without the texts of rows and answers, sorted by id, for a file that is committed. */
export function saveRun(report: EvalReport): SavedRun {
  const rows = new Map<string, AttemptRecord[]>();
  for (const record of report.attempts) {
    const key = JSON.stringify([record.rowId, record.variant]);
    rows.set(key, [...(rows.get(key) ?? []), record]);
  }
  const groups = groupsOf(report);
  const saved: Saved = {
    format,
    name: report.name,
    runId: report.runId,
    startedAt: report.startedAt,
    fingerprint: report.fingerprint,
    repetitions: report.repetitions,
    ...(report.ranges === undefined || groups === undefined ? {} : { ranges: report.ranges }),
    rows: [...rows.values()]
      .map((attempts) => savedRow(attempts, groups))
      .toSorted((a, b) => compared(a.id, b.id) || compared(a.variant, b.variant)),
  };
  return Object.freeze(saved);
}

/** The hashes of groups, by row; undefined: rows have groups, and the report was made in another process. */
function groupsOf(report: EvalReport): ReadonlyMap<string, string> | undefined {
  if (report.groups === undefined) return new Map();
  return rowsOf(report) && new Map(rowsOf(report)?.map(({ id, group }) => [id, contentHash(group ?? id).slice(0, 16)]));
}

function compared(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function savedRow(attempts: readonly AttemptRecord[], groups: ReadonlyMap<string, string> = new Map()): SavedRow {
  const [{ rowId, rowHash, variant, scores }] = attempts as [AttemptRecord];
  const means = Object.keys(scores).map((scorer) => [scorer, meanOf(attempts, scorer)] as const);
  const outside = attempts.filter(failedOutside);
  const group = groups.get(rowId);
  return {
    id: rowId,
    hash: rowHash,
    variant,
    scores: Object.fromEntries(means),
    ...(outside.length === 0
      ? {}
      : { outside: outside.length / attempts.length, outsideScores: outsideScores(outside, means) }),
    ...(group === undefined ? {} : { group }),
  };
}

function outsideScores(
  outside: readonly AttemptRecord[],
  means: readonly (readonly [scorer: string, mean: number | null])[],
): Readonly<Record<string, number>> {
  const known = means.filter(([, mean]) => mean !== null);
  return Object.fromEntries(known.map(([scorer]) => [scorer, meanOf(outside, scorer) as number]));
}

function meanOf(attempts: readonly AttemptRecord[], scorer: string): number | null {
  let sum = 0;
  for (const { scores } of attempts) {
    const score = ownField(scores, scorer);
    if (score === undefined || "unscored" in score) return null;
    sum += score.value;
  }
  return sum / attempts.length;
}

/** What a saved run is called that was read from a file. */
const sources = new WeakMap<object, string>();

/** Checks a saved run that was read from a file, which is named where it cannot be compared with. */
export function savedRunFrom(given: unknown, what: string): Saved {
  const saved = savedRunOf(given, what);
  sources.set(saved, what);
  return saved;
}

/**
 * Reads a saved run to compare with.
 * @throws {DefinitionError} for one of another eval, of a newer form, or damaged: before anything is spent.
 */
export function savedBaseline(definition: AnyDefinition, given: SavedRun | undefined): Saved | undefined {
  if (given === undefined) return undefined;
  const what = sources.get(given) ?? "compareWith";
  const saved = savedRunOf(given, what, definition.name);
  for (const [scorer, like] of Object.entries(definition.scorers)) {
    const { range } = scorerOf(like);
    // A score of another version may have had another range, and is not compared.
    if (ownField(saved.fingerprint.scorers, scorer) !== scorerHash(like)) continue;
    const odd = saved.rows.find(({ scores }) => isBeyond(ownField(scores, scorer), range));
    if (odd === undefined) continue;
    const score = `the score ${odd.scores[scorer]} by "${scorer}"`;
    throw new DefinitionError(
      `${what} is damaged: the row "${odd.id}" of "${odd.variant}" has ${score}, which is not between ${range.join(" and ")}.`,
    );
  }
  return saved;
}

/** Whether a saved score is not within the range of its scorer. */
export function isBeyond(score: number | null | undefined, range: readonly [number, number]): boolean {
  const [least, greatest] = [Math.min(...range), Math.max(...range)];
  const slack = rounding * (greatest - least);
  return typeof score === "number" && (score < least - slack || score > greatest + slack);
}

/** Checks a saved run. @throws {DefinitionError} that begins with `what`. */
export function savedRunOf(given: unknown, what: string, ofEval?: string): Saved {
  const saved = (isRecord(given) ? given : {}) as Partial<Saved>;
  if (saved.format !== format) {
    const found = saved.format === undefined ? describeValue(given) : describeValue(saved.format);
    throw new DefinitionError(`${what} is not what saveRun returns, of the form ${format}: it is ${found}.`);
  }
  const { rows, fingerprint, name, runId, startedAt, repetitions } = saved;
  if (ofEval !== undefined && name !== ofEval) {
    throw new DefinitionError(`${what} is a run of the eval "${String(name)}", not of "${ofEval}".`);
  }
  const isWhole =
    [name, runId, startedAt].every((text) => typeof text === "string") &&
    Number.isSafeInteger(repetitions) &&
    isRecord(fingerprint) &&
    hasHashes(fingerprint.scorers) &&
    hasHashes(fingerprint.variants) &&
    Array.isArray(rows) &&
    rows.every(isSavedRow) &&
    areRanges(saved.ranges);
  if (!isWhole) throw new DefinitionError(`${what} is damaged: save the run of "${String(name)}" again.`);
  return saved as Saved;
}

function areRanges(ranges: unknown): boolean {
  if (ranges === undefined) return true;
  const isRange = (range: unknown): boolean =>
    Array.isArray(range) && range.length === 2 && range.every(Number.isFinite) && range[0] !== range[1];
  return isRecord(ranges) && Object.values(ranges).every(isRange);
}

function hasHashes(given: unknown): boolean {
  return isRecord(given) && Object.values(given).every((hash) => typeof hash === "string");
}

function isSavedRow(row: unknown): boolean {
  if (!isRecord(row) || !isRecord(row["scores"])) return false;
  const isNamed = [row["id"], row["hash"], row["variant"]].every((text) => typeof text === "string");
  const { outside = 0, outsideScores: scores = {}, group = "" } = row;
  const isShare = typeof outside === "number" && outside >= 0 && outside <= 1;
  const isKnown = typeof group === "string" && isRecord(scores) && Object.values(scores).every(Number.isFinite);
  return (
    isNamed &&
    isShare &&
    isKnown &&
    Object.values(row["scores"]).every((score) => score === null || Number.isFinite(score))
  );
}

/** A saved run as text: a row a line, so that a comparison of two files shows what changed. */
export function savedLines({ rows, ...head }: Saved): string {
  const fields = Object.entries(head).map(([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)},`);
  const lines = rows.map((row) => `    ${JSON.stringify(row)}`);
  return ["{", ...fields, '  "rows": [', lines.join(",\n"), "  ]", "}", ""].join("\n");
}

/** Compares each variant with the saved one of its name, or else with the first one that was saved. */
export function savedAsBaseline(saved: Saved, fingerprint: Fingerprint): Baseline {
  const names = Object.keys(saved.fingerprint.variants);
  const nameFor = (variant: string): string => (names.includes(variant) ? variant : (names[0] ?? ""));
  return {
    shown: { saved: saved.runId },
    isComparedWith: () => true,
    valuesOf(view, { variant, scorer, range: [worst, best], outside }): RowValues {
      const values: RowValue[] = [];
      const unscored = new Set<string>();
      // Scores of another version are not compared.
      if (ownField(saved.fingerprint.scorers, scorer) !== ownField(fingerprint.scorers, scorer))
        return { values, unscored };
      const groups = new Map(view.rows.map(({ id, group }) => [id, group]));
      for (const { id, hash, variant: of, scores, outside: share = 0, outsideScores: scored } of saved.rows) {
        const score = ownField(scores, scorer);
        if (of !== nameFor(variant) || score === undefined) continue;
        if (score === null) unscored.add(id);
        else {
          const end = outside === "best" ? best : worst;
          const value = outside === "scored" ? score : score + share * (end - (ownField(scored, scorer) ?? worst));
          values.push({ id, value: within(value, [worst, best]), hash, cluster: groups.get(id) });
        }
      }
      return { values, unscored };
    },
    whyOtherScores(scorer) {
      const before = ownField(saved.fingerprint.scorers, scorer);
      if (before === ownField(fingerprint.scorers, scorer)) return undefined;
      return before === undefined ? "the saved run has no score by it" : "scored by another version in the saved run";
    },
    measuresOf: () => undefined,
  };
}

/** Sums of what floating point rounds may be past an end. */
function within(value: number, [worst, best]: readonly [number, number]): number {
  return Math.min(Math.max(worst, best), Math.max(Math.min(worst, best), value));
}
