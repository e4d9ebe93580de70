// The report as a table for people.
import { DefinitionError } from "@proviso/core";
import { escapedAsJson, printable, describeValue } from "@proviso/core/internal";
import { isProven } from "../statistics/gates.ts";
import type { Estimate } from "../statistics/estimate.ts";
import type { AttemptRecord, Difference, EvalReport, ScoreReport, VariantReport } from "../results.ts";
import { fewestLabels } from "./judged.ts";
import { gateLine, shownNumber as number } from "./gate-line.ts";
import { ownField } from "../own-field.ts";

/** How a report is shown. */
export interface FormatOptions {
  /** Columns of the terminal. Default 100. */
  readonly width?: number;
  /** Verdicts in colour, by ANSI escape sequences. Default false. */
  readonly color?: boolean;
  /** Attempts that failed or could not be scored, at most. Default 10. */
  readonly examples?: number;
}

/** A line of the table; what is marked in it is coloured where it last occurs. */
interface Line {
  readonly text: string;
  readonly mark?: { readonly word: string; readonly style: Style } | undefined;
}

/** Source of the codes: ECMA-48, Select Graphic Rendition. */
const styles = { passed: 32, failed: 31, unsettled: 33, proven: 1 } as const;
type Style = keyof typeof styles;

/** Characters of a message in an example. */
const longestMessage = 200;

/** Returns a table with intervals, gates and examples of what failed. Characters of data that are not seen are written out: no escape sequence reaches the terminal. */
export function formatReport(report: EvalReport, options: FormatOptions = {}): string {
  const { width = 100, examples = 10, color = false } = options;
  if (!(width >= 40))
    throw new DefinitionError(`The width of a report has to be at least 40, not ${describeValue(width)}.`);
  const plain = (texts: readonly string[]): readonly Line[] => texts.map((text) => ({ text }));
  const lines = [
    ...plain([headline(report)]),
    ...plain(scoreLines(report)).map(marked),
    ...gateLines(report),
    ...plain([...endLines(report), ...exampleLines(report, examples)]),
  ];
  const shown = lines.map(({ text, mark }) => painted({ text: cut(text, width), mark: color ? mark : undefined }));
  return `${shown.join("\n")}\n`;
}

/** Marks a proven difference. */
function marked({ text }: Line): Line {
  return text.endsWith("; proven") ? { text, mark: { word: "proven", style: "proven" } } : { text };
}

function painted({ text, mark }: Line): string {
  const at = mark === undefined ? -1 : text.lastIndexOf(mark.word);
  if (mark === undefined || at === -1) return text;
  const end = at + mark.word.length;
  return `${text.slice(0, at)}\u001B[${styles[mark.style]}m${mark.word}\u001B[0m${text.slice(end)}`;
}

function headline({ name, rows, groups, variants, repetitions, attempts }: EvalReport): string {
  const counts = Object.values(variants).map((variant) => variant.counts);
  const failed = attempts.filter(({ status }) => status === "failed").length;
  const unscored = counts.reduce((sum, each) => sum + each.unscored, 0);
  const of = groups === undefined ? "" : ` in ${groups} groups`;
  const made = `${attempts.length} attempts, ${failed} failed, ${unscored} unscored`;
  return `${name}   ${rows} rows${of} · ${plural(counts.length, "variant")} · ${plural(repetitions, "repetition")} · ${made}`;
}

function scoreLines(report: EvalReport): readonly string[] {
  const { variants, differences, baseline, fingerprint } = report;
  const names = Object.keys(variants);
  const scorers = Object.keys(fingerprint.scorers);
  const lines: string[] = [];
  for (const scorer of scorers) {
    for (const name of names) {
      const estimate = ownField((variants[name] as VariantReport).scores, scorer);
      const difference = ownField(ownField(differences, name), scorer);
      const against = "saved" in baseline ? "the saved run" : baseline.variant;
      lines.push(`${scorer.padEnd(12)} ${name.padEnd(16)} ${estimateText(estimate)}`);
      lines.push(...judgeLines(estimate?.judged, estimate?.method));
      if (difference !== undefined)
        lines.push(`${" ".repeat(13)}${`less ${against}`.padEnd(16)} ${differenceText(difference)}`);
    }
  }
  return [...lines, ...pairLines(report)];
}

/** What judges of two answers prefer, by variant. */
function pairLines({ variants, differences }: EvalReport): readonly string[] {
  return Object.entries(variants).flatMap(([name, { pairs }]) =>
    Object.entries(pairs).flatMap(([scorer, { asked, inconsistent, unscored, why = "" }]) => {
      const difference = ownField(ownField(differences, name), scorer);
      const shown = difference === undefined ? "too few rows for an interval" : differenceText(difference);
      const odd = `${inconsistent} of ${plural(asked, "pair")} changed with the order, and count as neither`;
      const missing = `${unscored} of ${plural(asked, "pair")} unscored: ${why.slice(0, longestMessage)}`;
      return [
        `${scorer.padEnd(12)} ${name.padEnd(16)} ${shown}`,
        ...(inconsistent === 0 ? [] : [`${" ".repeat(30)}${odd}`]),
        ...(unscored === 0 ? [] : [`${" ".repeat(30)}${missing}`]),
      ];
    }),
  );
}

/** The judge's own mean, and how far it agrees with people. */
function judgeLines(judged: ScoreReport["judged"], method: ScoreReport["method"] | undefined): readonly string[] {
  if (judged === undefined) return [];
  const { uncorrected, kappa, n } = judged;
  const agreed = `kappa ${number(kappa.value)}  ${number(kappa.low)} … ${number(kappa.high)} of ${plural(n, "label")}`;
  const own =
    method === "prediction-powered"
      ? `${number(uncorrected.value)}; ${agreed}`
      : `not corrected, fewer than ${fewestLabels} drawn labels; ${agreed}`;
  return [`${" ".repeat(13)}${"the judge alone".padEnd(16)} ${own}`];
}

function estimateText(estimate: Estimate | undefined): string {
  if (estimate === undefined) return "too few rows for an interval";
  const few = estimate.clusters < fewClusters ? ` (${estimate.clusters} only)` : "";
  return `${number(estimate.value)}  ${number(estimate.low)} … ${number(estimate.high)}${few}`;
}

/** Clusters below which an interval says how few they are. */
const fewClusters = 15;

function differenceText(difference: Difference): string {
  const { value, low, high, wins, losses, rowsToSettle } = difference;
  const sign = value >= 0 ? "+" : "−";
  const found = isProven(difference) ? "proven" : "not settled";
  const unknown = difference.method === "prediction-powered" ? ": more labels may" : ": more rows may";
  const known = rowsToSettle && `: about ${rowsToSettle.toLocaleString("en-US")} rows would`;
  const more = found === "proven" ? "" : (known ?? unknown);
  return `${sign}${number(Math.abs(value))}  ${number(low)} … ${number(high)}   ${wins} won, ${losses} lost; ${found}${more}`;
}

function gateLines({ gates }: EvalReport): readonly Line[] {
  return gates.map((gate) => {
    return { text: `gate         ${gateLine(gate)}`, mark: { word: gate.verdict, style: gate.verdict } };
  });
}

function endLines({ ended, reused, spent, lost }: EvalReport): readonly string[] {
  const least = spent.unpricedTokens === undefined ? "" : "at least ";
  const cost = spent.costUsd === undefined ? "" : `, ${least}${spent.costUsd.toFixed(4)} US dollars`;
  const gone = lost.totalTokens === 0 ? "" : `, of which about ${lost.totalTokens} were lost with a killed run`;
  const end = ended === undefined ? [] : [`ended        ${ended.why}: ${ended.message}`];
  const kept = reused === 0 ? [] : [`kept         ${plural(reused, "attempt")} of earlier runs`];
  return [...end, ...kept, `spent        ${spent.totalTokens.toLocaleString("en-US")} tokens${cost}${gone}`];
}

function exampleLines({ attempts }: EvalReport, most: number): readonly string[] {
  const odd = attempts.flatMap((record) => {
    const why = oddityOf(record);
    return why === undefined ? [] : [`  ${record.rowId} ${record.variant}: ${why}`];
  });
  return odd.length > most ? [...odd.slice(0, most), `  and ${odd.length - most} more`] : odd;
}

function oddityOf({ failure, scores }: AttemptRecord): string | undefined {
  if (failure !== undefined) return `${failure.reason}: ${failure.message.slice(0, longestMessage)}`;
  for (const [scorer, score] of Object.entries(scores)) {
    if ("unscored" in score) return `${scorer} is unscored: ${score.unscored.slice(0, longestMessage)}`;
  }
  return undefined;
}

function plural(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function cut(line: string, width: number): string {
  const shown = printable(line).replaceAll(/[\n\t]/g, escapedAsJson);
  return shown.length > width ? `${shown.slice(0, width - 1).replace(/[\uD800-\uDBFF]$/, "")}…` : shown;
}
