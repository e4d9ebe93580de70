// Looks at the gates while a run goes on, at an error rate that stays what it is (STA-5). A look is over the longest
// beginning of the order in which every attempt is made, and never over what happened to end first.
import type { AttemptRecord } from "../results.ts";
import type { Records } from "./records.ts";
import { decided, decisionsOf, gateConfidence } from "../report/gates.ts";
import { baselineOf, type Reported } from "../report/report.ts";
import { View } from "../report/view.ts";
import type { Level } from "../statistics/estimate.ts";
import { levelAtLook, lookBoundaries, plannedLooks } from "../statistics/looks.ts";

/** A look at which all gates were settled. */
export interface SettledLook {
  /** How many rows of the order it is over. */
  readonly rows: number;
  readonly level: Level;
  readonly gateLevel: Level;
}

/** The looks of one run. */
export interface EarlyLooks {
  add(record: AttemptRecord): void;
  /** Whether all gates are settled at a look that has become due. */
  isSettled(records: Records): boolean;
  settled(): SettledLook | undefined;
  /** The level of the gates once all rows are made. */
  lastLevel(): Level | undefined;
}

type Looked = Pick<Reported, "definition" | "variants" | "rows" | "fingerprint" | "baseline" | "options">;

/** undefined: nothing is gated, so nothing can be settled. */
export function earlyLooks(of: Looked): EarlyLooks | undefined {
  const { definition, variants, rows } = of;
  const baseline = baselineOf(of);
  const decisions = decisionsOf(definition, variants, baseline);
  if (decisions.length === 0) return undefined;
  const looks = plannedLooks(clusterSizes(rows.map(({ group, id }) => group ?? id)));
  const fractions = looks.map(({ fraction }) => fraction);
  const confidence = of.options.confidence ?? 0.95;
  const forGates = gateConfidence(decisions, confidence);
  const boundaries = { own: lookBoundaries(fractions, confidence), gates: lookBoundaries(fractions, forGates) };
  const repetitions = definition.repetitions ?? 1;
  const each = variants.length * repetitions;
  const made = new Map<string, number>();
  let whole = 0;
  let next = 0;
  let settled: SettledLook | undefined;
  const levelsAt = (look: number): Pick<SettledLook, "level" | "gateLevel"> => ({
    level: levelAtLook(boundaries.own[look] ?? Infinity, confidence),
    gateLevel: levelAtLook(boundaries.gates[look] ?? Infinity, forGates),
  });
  return {
    add({ rowId }) {
      made.set(rowId, (made.get(rowId) ?? 0) + 1);
      while (whole < rows.length && made.get(rows[whole]?.id ?? "") === each) whole += 1;
    },
    isSettled(records) {
      let due = -1;
      while (next < looks.length && (looks[next]?.rows ?? Infinity) <= whole) due = next++;
      // The last look is the end of the run.
      if (due === -1 || due === looks.length - 1) return false;
      const count = looks[due]?.rows ?? 0;
      const view = new View(rows.slice(0, count), records);
      const levels = levelsAt(due);
      const gates = decided(decisions, view, { definition, baseline, level: levels.gateLevel, isCut: false });
      if (gates.some(({ verdict }) => verdict === "unsettled")) return false;
      settled = { rows: count, ...levels };
      return true;
    },
    settled: () => settled,
    lastLevel: () => levelsAt(looks.length - 1).gateLevel,
  };
}

/** The sizes of clusters that stand together. */
function clusterSizes(clusters: readonly string[]): readonly number[] {
  const sizes: number[] = [];
  for (const [place, cluster] of clusters.entries()) {
    if (place > 0 && clusters[place - 1] === cluster) sizes[sizes.length - 1] = (sizes.at(-1) ?? 0) + 1;
    else sizes.push(1);
  }
  return sizes;
}
