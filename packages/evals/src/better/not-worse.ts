// Whether an override may be stored: the eval compares it with what is stored now.
import { DefinitionError, type OverridesStore, type PromptOverride, type Usage } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import { defineEval, definitionOf, type AnyDefinition } from "../define/define-eval.ts";
import type { Eval, Variant } from "../definition.ts";
import { judgePartsOf } from "../judges/judge.ts";
import { gateLine } from "../report/gate-line.ts";
import type { Difference } from "../results.ts";
import { runOptionNames, type RunOptions } from "../run/options.ts";
import { runEval } from "../run/run-eval.ts";
import { ownField } from "../own-field.ts";

/** Decides whether an override may be stored; `optimize` of `@proviso/toolkit` takes one as `accept`. */
export type Accept = (candidate: PromptOverride, current: PromptOverride | undefined) => Promise<Acceptance>;

/** Whether an override may be stored, and why. */
export interface Acceptance {
  /** Whether it may be stored. */
  readonly accepted: boolean;
  /** The reason in words, with the interval where there is one. */
  readonly why: string;
  /** The candidate less what is stored; undefined: they were not compared, or on too few rows. */
  readonly difference: Difference | undefined;
  /** What the comparison spent. */
  readonly spent: Usage;
}

/** What `notWorse` takes beside the options of the run. */
export interface NotWorseOptions extends RunOptions {
  /** The name of the scorer that decides. */
  readonly scorer: string;
  /** The most that the candidate may lose, in the unit of the score. Default 0. */
  readonly margin?: number | undefined;
}

const names = { ...runOptionNames, scorer: true, margin: true } as const;

/**
 * Returns a function that accepts an override which loses no more than `margin` on the rows of an eval: the interval's low
 * end is at least -margin. The eval's first variant runs twice, with what is stored and with the candidate, whatever other
 * variants there are. A run that ends before all attempts are made accepts nothing.
 * @throws {DefinitionError} for an unknown scorer or option and a margin below 0; `compareWith` and `onlyVariants`, because
 * what is stored is compared with the candidate alone; when it is called, whatever `runEval` rejects with.
 */
export function notWorse(definition: Eval, options: NotWorseOptions): Accept {
  const { scorer, margin = 0, ...run } = options;
  checkOptionNames("notWorse", options, names);
  checkSides("notWorse", run);
  const given = definitionOf(definition);
  checkComparison(given, { scorer, margin, ...run });
  return async (candidate, current) => {
    const compared = sidesOf(given, scorer, { current, candidates: { candidate } });
    const gates = { [scorer]: { noWorseBy: margin, unsettled: "fail" } } as const;
    const report = await runEval(defineEval({ ...compared, gates }), run);
    const { spent, ended } = report;
    const difference = ownField(report.differences["candidate"], scorer);
    const gate = report.gates.find(({ variant }) => variant === "candidate");
    if (ended !== undefined && ended.why !== "settled") {
      return { accepted: false, why: `The comparison ended early: ${ended.message}`, difference, spent };
    }
    if (gate === undefined) return { accepted: false, why: "There was nothing to compare.", difference, spent };
    return { accepted: gate.verdict === "passed", why: gateLine(gate), difference, spent };
  };
}

/** @throws {DefinitionError} for a scorer that the eval does not have, a margin that cannot be, and workers. */
export function checkComparison(
  { name, scorers }: AnyDefinition,
  { scorer, margin, workers }: { readonly scorer: string; readonly margin: number } & Pick<RunOptions, "workers">,
): void {
  if (!Object.hasOwn(scorers, scorer)) {
    const known = Object.keys(scorers).join(", ");
    throw new DefinitionError(`The eval "${name}" has no scorer "${scorer}", but ${known}.`);
  }
  if (!(Number.isFinite(margin) && margin >= 0)) {
    throw new DefinitionError(`The option margin must be a number from 0, not ${describeValue(margin)}.`);
  }
  if (workers !== undefined) {
    throw new DefinitionError("Candidates are variants that no worker has: compare them without workers.");
  }
}

/** @throws {DefinitionError} for options that would compare something else than what is stored with a candidate. */
export function checkSides(what: string, { compareWith, onlyVariants }: RunOptions): void {
  for (const [name, given] of Object.entries({ compareWith, onlyVariants })) {
    if (given === undefined) continue;
    throw new DefinitionError(`${what} compares a candidate with what is stored: leave out ${name}.`);
  }
}

/**
 * Returns the eval with what is stored as its baseline, "current", and each candidate as a variant of its name. Judges
 * cost something, so that only the one that decides is asked; functions that score are all kept.
 */
export function sidesOf(
  definition: AnyDefinition,
  scorer: string,
  {
    current,
    candidates,
  }: {
    readonly current: PromptOverride | undefined;
    readonly candidates: Readonly<Record<string, PromptOverride>>;
  },
): AnyDefinition {
  const { variants = {} } = definition;
  const [first = {}] = Object.values(variants);
  const all = Object.values(candidates);
  const side = (own: PromptOverride | undefined): Variant<object, unknown> => {
    return { ...first, overrides: { store: storeOf(own, all, first), tag: all[0]?.tag } };
  };
  const sides = Object.entries(candidates).map(([name, candidate]) => [name, side(candidate)] as const);
  const scorers = Object.entries(definition.scorers).filter(
    ([name, given]) => name === scorer || judgePartsOf(given) === undefined,
  );
  return {
    ...definition,
    variants: { current: side(current), ...Object.fromEntries(sides) },
    scorers: Object.fromEntries(scorers),
    pairScorers: {},
  };
}

/** A store that has this override of the prompt which the candidates are for, and of other prompts what the variant has. */
function storeOf(
  own: PromptOverride | undefined,
  candidates: readonly PromptOverride[],
  { overrides }: Variant<object, unknown>,
): OverridesStore {
  const refuse = (): never => {
    throw new DefinitionError("The overrides of a comparison are read-only.");
  };
  return {
    resolve: async (descriptor, tag) => {
      const isMeant = candidates.some(({ sections, tools }) =>
        [
          ...Object.entries(sections).map(([path, { hash }]) => descriptor.sections[path] === hash),
          ...Object.entries(tools).map(([name, { hash }]) => descriptor.tools[name] === hash),
        ].includes(true),
      );
      if (isMeant) return own === undefined ? undefined : { ...own, tag };
      return overrides?.store.resolve(descriptor, overrides.tag ?? "latest");
    },
    upsert: async () => refuse(),
    seed: async () => refuse(),
  };
}
