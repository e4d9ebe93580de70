// What is looked at before a run spends anything: its options, and the rows of its data.
import { trackerOf } from "@proviso/runtime/internal";
import { boundsOf } from "../bounded.ts";
import { canBeReadAgain, namedRows, ordered } from "../data/rows.ts";
import { definitionOf, variantsOf } from "../define/define-eval.ts";
import type { Eval } from "../definition.ts";
import type { Reported } from "../report/report.ts";
import { savedBaseline } from "../report/saved.ts";
import { checkRunOptions, type RunOptions } from "./options.ts";
import { repeated, rowsToRun, variantsToRun } from "./part.ts";
import { requireBaseline, requirePrices } from "./requirements.ts";

type Asked = Pick<Reported, "definition" | "variants" | "baseline">;

/**
 * Looks whether `runEval` would begin with these options, and asks nothing. Rows are read where they can be read again: a
 * list, and those of `jsonl` and `csv`. Check several evals before the first of them spends anything.
 * @throws {DefinitionError} as `runEval` does before anything is spent.
 */
export async function checkEval(of: Eval, options: RunOptions = {}): Promise<void> {
  const { definition } = await askedOf(of, options);
  if (canBeReadAgain(definition.data)) await rowsToAsk(definition, options);
}

/** @throws {DefinitionError} for options that cannot be, or not of this eval. */
export async function askedOf(of: Eval, options: RunOptions): Promise<Asked> {
  checkRunOptions(options);
  const definition = repeated(definitionOf(of), options);
  const variants = variantsToRun(variantsOf(definition), options);
  const baseline = savedBaseline(definition, options.compareWith);
  requireBaseline(definition, variants, baseline !== undefined);
  await requirePrices(definition, variants, trackerOf(options.budget)?.budget.maxCostUsd);
  return { definition, variants, baseline };
}

/** The rows of the run, in its order. @throws {DefinitionError} for rows that cannot be used, or are not there. */
export async function rowsToAsk(definition: Asked["definition"], options: RunOptions): Promise<Reported["rows"]> {
  const named = await namedRows(definition.data, definition, boundsOf(options, definition.timeoutMs));
  return ordered(rowsToRun(named, options), options.seed ?? 1);
}
