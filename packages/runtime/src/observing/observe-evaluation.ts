// What an evaluation with observers needs: loaded with the first one.
import type { Prompt } from "@proviso/core";
import type { Surroundings } from "../nested/inherit.ts";
import type { Setup } from "../run.ts";
import { aroundEvaluation } from "./around-evaluation.ts";
import type { Observers } from "./observers.ts";
import { RunObserving } from "./run-observing.ts";

/** Runs an evaluation whose steps, events and changes the observers see. */
export function observeEvaluation<T>(
  observers: Observers,
  setup: Setup,
  prompt: Prompt,
  around: Surroundings,
  evaluate: (around: Surroundings) => Promise<T>,
): Promise<T> {
  const observed: Surroundings = { ...around, observe: (run) => new RunObserving(run, observers) };
  return observers.surrounds ? aroundEvaluation(observers, setup, prompt, observed, evaluate) : evaluate(observed);
}
