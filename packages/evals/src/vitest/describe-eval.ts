import { afterAll, assert, beforeAll, describe, test } from "vitest";
import { definitionOf, variantsOf } from "../define/define-eval.ts";
import type { Eval } from "../definition.ts";
import { gateLine, gateName, scoredName, unscoredText } from "../report/gate-line.ts";
import { firstIsBaseline } from "../report/baseline.ts";
import { decisionsOf } from "../report/gates.ts";
import type { EvalReport } from "../results.ts";
import type { RunOptions } from "../run/options.ts";
import { variantsToRun } from "../run/part.ts";
import { runEval } from "../run/run-eval.ts";

/** What `describeEval` takes: the options of `runEval`, and a time. */
export interface DescribeEvalOptions extends RunOptions {
  /** Milliseconds for the whole run; after them the suite fails and the run is aborted. Default 600,000. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Makes a suite of vitest: a test for each gate, and one that every attempt is scored; without gates the second one only.
 * No row is a test. The eval runs once, before the first of them, and the message of a failed gate has its interval. A run
 * that its budget, an abort or a systemic failure ended has attempts without scores, so the second test fails.
 * @throws {DefinitionError} where vitest collects tests, for what `defineEval` did not make and a variant that it has not.
 */
export function describeEval(definition: Eval, options: DescribeEvalOptions = {}): void {
  const { timeoutMs = 600_000, ...run } = options;
  const made = definitionOf(definition);
  const variants = variantsToRun(variantsOf(made), run);
  const isComparedWith = run.compareWith === undefined ? firstIsBaseline(variants) : () => true;
  const decisions = decisionsOf(made, variants, { isComparedWith });
  describe(definition.name, () => {
    const ending = new AbortController();
    let report: EvalReport | undefined;
    const reported = (): EvalReport => {
      if (report === undefined) throw new Error(`The eval "${definition.name}" has not been run.`);
      return report;
    };
    beforeAll(async () => {
      const { signal } = run;
      const either = signal === undefined ? ending.signal : AbortSignal.any([signal, ending.signal]);
      report = await runEval(definition, { ...run, signal: either });
    }, timeoutMs);
    // What a run does after its time is of no use.
    afterAll(() => ending.abort());
    for (const [place, decision] of decisions.entries()) {
      test(gateName(decision), () => {
        const gate = reported().gates[place];
        if (gate?.passes !== true) assert.fail(gate === undefined ? "The gate was not decided." : gateLine(gate));
      });
    }
    test(scoredName, () => {
      const missing = unscoredText(reported());
      if (missing !== undefined) assert.fail(missing);
    });
  });
}
