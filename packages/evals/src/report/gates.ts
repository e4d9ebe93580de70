// Gates: each score and difference that decides, at a level that all of them share.
import { scorerOf, type AnyDefinition, type ReadyVariant } from "../define/define-eval.ts";
import type { Estimate, Level } from "../statistics/estimate.ts";
import { atLeastVerdict, familyConfidence, noWorseVerdict, passesGate, sharedVerdict } from "../statistics/gates.ts";
import type { Ends, Verdict } from "../statistics/gates.ts";
import type { Difference, GateReport } from "../results.ts";
import type { Baseline } from "./baseline.ts";
import { scoreDifference } from "./differences.ts";
import { areLabelsRandom, scoreEstimate } from "./judged.ts";
import { uncomparedOf } from "./uncompared.ts";
import { rowValues, scoreOf, type View } from "./view.ts";

/** The share of rows without a score from which on no gate on that scorer is settled. */
const mostUnscored = 1 / 20;

/** One interval that decides. */
interface Decision {
  readonly scorer: string;
  readonly variant: string;
  readonly gate: "atLeast" | "noWorseBy";
  readonly bound: number;
  readonly unsettled: "pass" | "fail";
}

/** What is decided: every gate for every variant that it concerns. */
export function decisionsOf(
  definition: AnyDefinition,
  variants: readonly ReadyVariant[],
  baseline: Pick<Baseline, "isComparedWith">,
): readonly Decision[] {
  return Object.entries(definition.gates ?? {}).flatMap(([scorer, { atLeast, noWorseBy, unsettled = "pass" }]) =>
    variants.flatMap(({ name: variant }) => {
      const of = { scorer, variant, unsettled };
      const decisions: Decision[] = [];
      if (atLeast !== undefined) decisions.push({ ...of, gate: "atLeast", bound: atLeast });
      if (noWorseBy !== undefined && baseline.isComparedWith(variant)) {
        decisions.push({ ...of, gate: "noWorseBy", bound: noWorseBy });
      }
      return decisions;
    }),
  );
}

/** The level of each gate's interval. */
export function gateConfidence(decisions: readonly Decision[], confidence: number): number {
  return familyConfidence(confidence, decisions.length);
}

/** Decides all gates at one level. */
export function decided(
  decisions: readonly Decision[],
  view: View,
  of: {
    readonly definition: AnyDefinition;
    readonly baseline: Baseline;
    readonly level: Level;
    /** Whether something ended the run before its rows did: then nothing is settled. */
    readonly isCut: boolean;
  },
): readonly GateReport[] {
  return decisions.map((decision) => {
    const { scorer, variant, gate, bound, unsettled } = decision;
    const { range } = scorerOf(of.definition.scorers[scorer] as never);
    const lessIsBetter = range[0] > range[1];
    const own = rowValues(view, variant, scoreOf(scorer, range, "scored"));
    const { on, verdicts } =
      gate === "atLeast"
        ? atLeastOn(view, { definition: of.definition, variant, scorer, range, bound, lessIsBetter }, of.level)
        : noWorseOn(scoreDifference(view, of, { variant, scorer }, of.level), bound, lessIsBetter);
    const { shown } = of.baseline;
    const sides = gate === "noWorseBy" && "variant" in shown ? [variant, shown.variant] : [variant];
    const unsettledBy = reasonFor(on, verdicts, {
      isCut: of.isCut,
      isScored: isFew(own.unscored.size, own.values.length),
      areLabelsRandom: () =>
        sides.every((side) => areLabelsRandom(view, { definition: of.definition, scorer, range, variant: side })),
    });
    const verdict = on === undefined || unsettledBy !== undefined ? "unsettled" : sharedVerdict(verdicts);
    const isMissing = gate === "noWorseBy" && on === undefined && !of.isCut;
    const uncompared = isMissing ? uncomparedOf(view, of, { variant, scorer }) : undefined;
    const passes = uncompared === undefined && passesGate(verdict, unsettled);
    const why = unsettledBy === undefined ? {} : { unsettledBy };
    return { scorer, variant, gate, bound, verdict, ...why, passes, on, ...(uncompared && { uncompared }) };
  });
}

/** Why a gate is unsettled whatever its interval says; undefined: the interval decides, or there is none. */
function reasonFor(
  on: Estimate | Difference | undefined,
  verdicts: readonly Verdict[],
  is: { readonly isCut: boolean; readonly isScored: boolean; readonly areLabelsRandom: () => boolean },
): GateReport["unsettledBy"] {
  if (is.isCut) return "ended";
  if (!is.isScored || (on !== undefined && !isComparedOnMost(on))) return "unscored";
  if (on === undefined) return undefined;
  const shared = sharedVerdict(verdicts);
  if (shared === "unsettled") return verdicts[0] === "unsettled" ? undefined : "outside";
  // The labels are there because the judge alone is not trusted, and those of no random part correct nothing.
  return shared !== "passed" || is.areLabelsRandom() ? undefined : "labels";
}

function isFew(unscored: number, scored: number): boolean {
  return unscored <= mostUnscored * (unscored + scored);
}

/** A row that either side of a comparison has no score of is left out of it. */
function isComparedOnMost(on: Estimate | Difference): boolean {
  return !("wins" in on) || isFew(on.unpaired.unscored, on.wins + on.losses + on.ties);
}

interface Bounded {
  readonly range: readonly [number, number];
  readonly bound: number;
  readonly lessIsBetter: boolean;
}

function atLeastOn(
  view: View,
  {
    bound,
    lessIsBetter,
    ...asked
  }: Bounded & { readonly definition: AnyDefinition; readonly variant: string; readonly scorer: string },
  level: Level,
) {
  const estimates = (["scored", "worst", "best"] as const).map((outside) =>
    scoreEstimate(view, { ...asked, outside }, level),
  );
  return {
    on: estimates[0],
    verdicts: estimates.map((each) => (each ? atLeastVerdict(each, bound, lessIsBetter) : "unsettled")),
  };
}

function noWorseOn(on: Difference | undefined, bound: number, lessIsBetter: boolean) {
  const ends: readonly Ends[] = on === undefined ? [] : [on, on.bounds.worst, on.bounds.best];
  return { on, verdicts: ends.map((each) => noWorseVerdict(each, bound, lessIsBetter)) };
}
