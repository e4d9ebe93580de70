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
export async function observeEvaluation<T>(
  observers: Observers,
  [setup, prompt, given, around]: Given,
  evaluate: (options: EvaluateOptions, around: Surroundings) => Promise<T>,
): Promise<T> {
  const observed = { ...around, observe: (run: Run) => new RunObserving(run, observers) };
  if (!observers.surrounds) return evaluate(given, observed);
  const { options, open } = ownRecordOf(given, setup.journal, around);
  const opening = open?.(setup, prompt, options);
  const opened = opening === undefined ? observed : { ...observed, opening, evaluationId: await idIn(opening) };
  return aroundEvaluation(observers, setup, prompt, opened, (inside) => evaluate(options, inside));
}

/** The record says which evaluation goes on. undefined: it cannot be opened, which fails inside the step. */
async function idIn(opening: NonNullable<Surroundings["opening"]>): Promise<string | undefined> {
  try {
    return (await opening).evaluationId;
  } catch {
    return undefined;
  }
}
