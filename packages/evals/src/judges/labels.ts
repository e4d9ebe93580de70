import { DefinitionError } from "@proviso/core";
import { contentHash, describeValue } from "@proviso/core/internal";
import { hiddenField } from "@proviso/runtime/internal";
import type { NamedRow } from "../data/rows.ts";
import type { AttemptRecord, EvalReport } from "../results.ts";

/** The verdict of a person on one answer. */
export interface Label {
  /** The id of the row. */
  readonly rowId: string;
  /** The hash of the output, so that a label never counts for another answer. */
  readonly output: string;
  /** The verdict, as a scorer would give it. */
  readonly value: boolean | number;
  /** The name of the person. Default: not known. */
  readonly by?: string | undefined;
  /**
   * The place in the random order, and how many rows there were then; set by `toLabel`. A label without it serves the
   * agreement alone.
   */
  readonly drawn?: { readonly seed: number; readonly place: number; readonly rows?: number | undefined } | undefined;
}

/** The rows of reports that were made in this process. A WeakMap would keep them until a full collection. */
const rowsOfReports = hiddenField<readonly NamedRow<unknown>[]>();

/** Keeps the rows of a report for `toLabel`, which shows them to people: the report itself has their ids alone. */
export function keepRows(report: EvalReport, rows: readonly NamedRow<unknown>[]): void {
  rowsOfReports.set(report, rows);
}

/** The rows of a report, with their groups; undefined: it was made in another process. */
export function rowsOf(report: EvalReport): readonly NamedRow<unknown>[] | undefined {
  return rowsOfReports.of(report);
}

/** Names an answer to a row. */
export function answerKey({ rowId, output }: Pick<Label, "rowId" | "output">): string {
  return JSON.stringify([rowId, output]);
}

/** The hash of an answer, by which labels are found. */
export function outputHash({ output }: AttemptRecord): string {
  return contentHash(output ?? null);
}

/** What answers are drawn by, the lowest first: the same of an answer whatever others there are. */
export function drawOrder(seed: number, answer: Pick<Label, "rowId" | "output">): string {
  return contentHash([seed, answerKey(answer)]);
}

/**
 * Draws answers at random over all variants for people to judge. Two equal answers to a row are drawn once. A larger count
 * has the smaller one in it. `row` is undefined where the report was read from a file, which has no texts of rows.
 *
 * @param options `count` answers, or as many as there are. `seed` is 1 unless set.
 * @throws {DefinitionError} for a count that is no whole number from 1.
 */
export function toLabel(
  report: EvalReport,
  options: { readonly count: number; readonly seed?: number },
): readonly (Omit<Label, "value"> & { readonly row: unknown; readonly answer: unknown })[] {
  const { count, seed = 1 } = options;
  if (!Number.isSafeInteger(count) || count < 1) {
    throw new DefinitionError(`The count of labels has to be a whole number from 1, not ${describeValue(count)}.`);
  }
  const rows = new Map(rowsOf(report)?.map(({ id, row }) => [id, row]));
  const answers = new Map<string, { readonly rowId: string; readonly output: string; readonly answer: unknown }>();
  for (const record of report.attempts) {
    if (record.status !== "answered") continue;
    const answer = { rowId: record.rowId, output: outputHash(record), answer: record.output };
    answers.set(answerKey(answer), answer);
  }
  const rowCount = new Set(report.attempts.map(({ rowId }) => rowId)).size;
  const drawn = Array.from(answers.values(), (answer) => ({ answer, order: drawOrder(seed, answer) }));
  return drawn
    .toSorted((a, b) => (a.order < b.order ? -1 : 1))
    .slice(0, count)
    .map(({ answer: { rowId, output, answer } }, place) => {
      return { rowId, output, by: undefined, drawn: { seed, place, rows: rowCount }, row: rows.get(rowId), answer };
    });
}
