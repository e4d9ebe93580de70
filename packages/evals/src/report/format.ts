// The report as a table for people.
import { DefinitionError } from "@proviso/core";
import { escapedAsJson, printable, describeValue } from "@proviso/core/internal";
import { isProven } from "../statistics/gates.ts";
import type { Estimate } from "../statistics/estimate.ts";
import type { AttemptRecord, Difference, EvalReport, ScoreReport, VariantReport } from "../results.ts";
import { fewestLabels } from "./judged.ts";
import { gateParts, shownNumber as number } from "./gate-line.ts";
import { unmeasuredTexts } from "./unmeasured.ts";
import { leftOutText } from "./uncompared.ts";
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

/** A line of the table. Parts that do not fit into the width stand below; what is marked is coloured in the last of them. */
interface Line {
  readonly parts: readonly string[];
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
  const lines = [
    headline(report),
    ...scoreLines(report).map(marked),
    ...gateLines(report),
    ...[...endLines(report), ...exampleLines(report, examples)].map((text): Line => ({ parts: [text] })),
  ];
  const shown = lines.flatMap(({ parts, mark }) => {
    const laid = laidOut(parts, width);
    return color ? laid.with(-1, painted(laid.at(-1) ?? "", mark)) : laid;
  });
  return `${shown.join("\n")}\n`;
}

/** Marks a proven difference. */
function marked(parts: readonly string[]): Line {
  const isProof = parts.at(-1)?.endsWith("; proven") === true;
  return isProof ? { parts, mark: { word: "proven", style: "proven" } } : { parts };
}

/** Where names leave no room for the numbers, these stand below: a name may be cut, and what was found is not. */
function laidOut(parts: readonly string[], width: number): readonly string[] {
  const lines: string[] = [];
  for (const part of parts.map(oneLine)) {
    const last = lines.at(-1);
    if (last === undefined) lines.push(part);
    else if (`${last} ${part}`.length <= width) lines[lines.length - 1] = `${last} ${part}`;
    else lines.push(`${indent}${part.trim()}`);
  }
  return lines.map((line) => cut(line.trimEnd(), width));
}

/** What stands below the names of the scorers begins so. */
const indent = " ".repeat(13);

function painted(text: string, mark: Line["mark"]): string {
  const at = mark === undefined ? -1 : text.lastIndexOf(mark.word);
  if (mark === undefined || at === -1) return text;
  const end = at + mark.word.length;
  return `${text.slice(0, at)}\u001B[${styles[mark.style]}m${mark.word}\u001B[0m${text.slice(end)}`;
}

function headline({ name, rows, groups, variants, repetitions, attempts }: EvalReport): Line {
  const counts = Object.values(variants).map((variant) => variant.counts);
  const failed = attempts.filter(({ status }) => status === "failed").length;
  const unscored = counts.reduce((sum, each) => sum + each.unscored, 0);
  const of = groups === undefined ? "" : ` in ${groups} groups`;
  const made = `${attempts.length} attempts, ${failed} failed, ${unscored} unscored`;
  const asked = `${rows} rows${of} · ${plural(counts.length, "variant")} · ${plural(repetitions, "repetition")}`;
  return { parts: [name, `  ${asked} · ${made}`] };
}

function scoreLines(report: EvalReport): readonly (readonly string[])[] {
  const { variants, differences, uncompared, baseline, fingerprint } = report;
  const names = Object.keys(variants);
  const scorers = Object.keys(fingerprint.scorers);
  const lines: (readonly string[])[] = [];
  for (const scorer of scorers) {
    for (const name of names) {
      const estimate = ownField((variants[name] as VariantReport).scores, scorer);
      const difference = ownField(ownField(differences, name), scorer);
      const against = "saved" in baseline ? "the saved run" : baseline.variant;
      lines.push([scorer.padEnd(12), name.padEnd(16), estimateText(estimate)]);
      lines.push(...judgeLines(estimate));
      const less = `${indent}${`less ${against}`.padEnd(16)}`;
      const without = ownField(ownField(uncompared, name), scorer);
      if (difference !== undefined) lines.push([less, differenceText(difference)]);
      else if (without !== undefined) lines.push([less, `nothing to compare: ${without.why}`]);
      const leftOut = difference && "saved" in baseline ? leftOutText(difference.unpaired) : undefined;
      if (leftOut !== undefined) lines.push([`${" ".repeat(30)}left out: ${leftOut}`]);
    }
  }
  return [...lines, ...pairLines(report)];
}

/** What judges of two answers prefer, by variant. */
function pairLines({ variants, differences }: EvalReport): readonly (readonly string[])[] {
  return Object.entries(variants).flatMap(([name, { pairs }]) =>
    Object.entries(pairs).flatMap(([scorer, { asked, inconsistent, unscored, why = "" }]) => {
      const difference = ownField(ownField(differences, name), scorer);
      const shown = difference === undefined ? "too few rows for an interval" : differenceText(difference);
      const odd = `${inconsistent} of ${plural(asked, "pair")} changed with the order, and count as neither`;
      const missing = `${unscored} of ${plural(asked, "pair")} unscored: ${why.slice(0, longestMessage)}`;
      return [
        [scorer.padEnd(12), name.padEnd(16), shown],
        ...(inconsistent === 0 ? [] : [[`${" ".repeat(30)}${odd}`]]),
        ...(unscored === 0 ? [] : [[`${" ".repeat(30)}${missing}`]]),
      ];
    }),
  );
}

/** The judge's own mean, how far it agrees with people, and why it is not corrected. */
function judgeLines(score: ScoreReport | undefined): readonly (readonly string[])[] {
  const { judged, goneLabels: gone = 0, lateAnswers: late = 0, method } = score ?? {};
  if (judged === undefined && gone === 0 && late === 0) return [];
  const why =
    gone > 0
      ? `${plural(gone, "label")} ${gone === 1 ? "is of an answer that is" : "are of answers that are"} gone: draw again`
      : late > 0
        ? `${plural(late, "answer")} ${late === 1 ? "is" : "are"} newer than the labels: draw again`
        : `fewer than ${fewestLabels} drawn labels`;
  const own = judged !== undefined && method === "prediction-powered" ? number(judged.uncorrected.value) : undefined;
  const head = `${indent}${"the judge alone".padEnd(16)}`;
  const shown = own ?? `not corrected, ${why}`;
  return [judged === undefined ? [head, shown] : [head, `${shown};`, agreementText(judged)]];
}

function agreementText({ kappa, n }: NonNullable<ScoreReport["judged"]>): string {
  return `kappa ${number(kappa.value)}  ${number(kappa.low)} … ${number(kappa.high)} of ${plural(n, "label")}`;
}

function estimateText(estimate: Estimate | undefined): string {
  if (estimate === undefined) return "too few rows for an interval";
  const { clusters, effectiveClusters = clusters } = estimate;
  // A few large groups say no more than a few groups do.
  const uneven =
    effectiveClusters < clusters ? `${clusters} groups, worth ${number(Math.floor(effectiveClusters))}` : clusters;
  const few = effectiveClusters < fewClusters ? ` (${uneven} only)` : "";
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
    const [asked, variant, verdict] = gateParts(gate);
    const parts = [`gate         ${asked}`, `  ${variant}`, ` ${verdict}`];
    return { parts, mark: { word: gate.verdict, style: gate.verdict } };
  });
}

function endLines({ ended, variants, reused, spent, lost }: EvalReport): readonly string[] {
  const least = spent.unpricedTokens === undefined ? "" : "at least ";
  const cost = spent.costUsd === undefined ? "" : `, ${least}${spent.costUsd.toFixed(4)} US dollars`;
  const gone = lost.totalTokens === 0 ? "" : `, of which about ${lost.totalTokens} were lost with a killed run`;
  const end = ended === undefined ? [] : [`ended        ${ended.why}: ${ended.message}`];
  const kept = reused === 0 ? [] : [`kept         ${plural(reused, "attempt")} of earlier runs`];
  const unmeasured = unmeasuredTexts({ variants, ended }).map(
    (text) => `unmeasured   ${text.slice(0, longestMessage)}`,
  );
  return [
    ...end,
    ...unmeasured,
    ...kept,
    `spent        ${spent.totalTokens.toLocaleString("en-US")} tokens${cost}${gone}`,
  ];
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

function oneLine(text: string): string {
  return printable(text).replaceAll(/[\n\t]/g, escapedAsJson);
}

function cut(shown: string, width: number): string {
  return shown.length > width ? `${shown.slice(0, width - 1).replace(/[\uD800-\uDBFF]$/, "")}…` : shown;
}
