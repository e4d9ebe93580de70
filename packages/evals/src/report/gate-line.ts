// A gate in words: for the table, for JUnit and for the message of a test.
import type { AttemptRecord, EvalReport, GateReport, VariantReport } from "../results.ts";
import { unmeasuredTexts } from "./unmeasured.ts";

type Asked = Pick<GateReport, "scorer" | "variant" | "gate" | "bound">;

/** What a gate asks of which variant: "correct at least 0.85   prize". */
export function gateName(asked: Asked): string {
  return `${wantedText(asked)}   ${asked.variant}`;
}

function wantedText({ scorer, gate, bound }: Asked): string {
  const wanted = gate === "atLeast" ? `at least ${shownNumber(bound)}` : `no worse by ${shownNumber(bound)}`;
  return `${scorer} ${wanted}`;
}

/** What a gate asks, of which variant, and its verdict with the interval that it was decided on. */
export function gateParts(gate: GateReport): readonly [asked: string, variant: string, verdict: string] {
  const { verdict, on, variant, uncompared, unsettledBy } = gate;
  const none = uncompared === undefined ? "too few rows" : `nothing to compare: ${uncompared.why}`;
  const seen = on === undefined ? none : `${shownNumber(on.low)} … ${shownNumber(on.high)}`;
  const why = unsettledBy === undefined || on === undefined ? "" : `, ${reasons[unsettledBy]}`;
  return [wantedText(gate), variant, `${verdict}: ${seen}${why}`];
}

const reasons = {
  ended: "but the run ended early",
  unscored: "but more than 1 in 20 are unscored",
  outside: "but failures of the surroundings may turn it",
  labels: "but the labels are no random part",
} as const;

/** A gate, its verdict and the interval that it was decided on, in one line. */
export function gateLine(gate: GateReport): string {
  const [, , verdict] = gateParts(gate);
  return `${gateName(gate)}  ${verdict}`;
}

/** The name of the test that no gate has. */
export const scoredName = "every attempt is scored";

/** Why not every attempt has its scores, line by line; undefined: all have. An end whose gates are settled is whole. */
export function unscoredText({ attempts, ended, variants }: EvalReport, most = 10): string | undefined {
  const lines: string[] = [];
  if (ended !== undefined && ended.why !== "settled") {
    const notRun = Object.values(variants).reduce((sum, { counts }) => sum + counts.notRun, 0);
    lines.push(`The run ended early (${ended.why}) with ${notRun} attempts not made: ${ended.message}`);
  }
  lines.push(...unmeasuredTexts({ variants, ended }));
  const faults = [...attempts.flatMap(unscoredLines), ...Object.entries(variants).flatMap(unscoredPairs)];
  lines.push(...faults.slice(0, most));
  if (faults.length > most) lines.push(`and ${faults.length - most} more`);
  return lines.length === 0 ? undefined : lines.join("\n");
}

function unscoredLines({ rowId, variant, scores }: AttemptRecord): readonly string[] {
  return Object.entries(scores).flatMap(([scorer, score]) =>
    "unscored" in score ? [`${rowId} ${variant}: ${scorer} is unscored: ${score.unscored}`] : [],
  );
}

function unscoredPairs([variant, { pairs }]: readonly [string, VariantReport]): readonly string[] {
  return Object.entries(pairs).flatMap(([scorer, { asked, unscored, why = "" }]) =>
    unscored === 0 ? [] : [`${variant}: ${unscored} of ${asked} pairs of ${scorer} are unscored: ${why}`],
  );
}

/** A number with at most three digits behind the point. */
export function shownNumber(value: number): string {
  const rounded = Math.round(value * 1000) / 1000;
  return String(rounded === 0 ? 0 : rounded).replace("-", "−");
}
