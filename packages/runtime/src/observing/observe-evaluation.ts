// What an evaluation with observers needs: loaded with the first one.
import type { EvaluateOptions, Prompt } from "@proviso/core";
import type { Surroundings } from "../nested/inherit.ts";
import { ownRecordOf } from "../recording/run-value.ts";
import type { DrivenSetup, Run } from "../run.ts";
import { aroundEvaluation } from "./around-evaluation.ts";
import type { Observers } from "./observers.ts";
import { RunObserving } from "./run-observing.ts";

type Given = readonly [setup: DrivenSetup, prompt: Prompt, options: EvaluateOptions, around: Surroundings];

/** Runs an evaluation whose steps, events and changes the observers see. */
export function observeEvaluation<T>(
  observers: Observers,
  [setup, prompt, given, around]: Given,
  evaluate: (options: EvaluateOptions, around: Surroundings) => Promise<T>,
): T | Promise<T> {
  const observed = { ...around, observe: (run: Run) => new RunObserving(run, observers) };
  if (!observers.surrounds) return evaluate(given, observed);
  const { options, open } = ownRecordOf(given, setup.journal, around);
  const opening = open?.(setup, prompt, options, around.enclosing);
  const begin = (opened: Parameters<typeof aroundEvaluation>[3]): T | Promise<T> =>
    aroundEvaluation(observers, setup, prompt, opened, (inside) => evaluate(options, inside));
  if (opening === undefined) return begin(observed);
  return idIn(opening).then((evaluationId) => begin({ ...observed, opening, evaluationId }));
}

/** The record says which evaluation goes on. undefined: it cannot be opened, which fails inside the step. */
async function idIn(opening: NonNullable<Surroundings["opening"]>): Promise<string | undefined> {
  try {
    return (await opening).evaluationId;
  } catch {
    return undefined;
  }
}
