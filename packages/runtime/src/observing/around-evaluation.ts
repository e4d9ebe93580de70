import type { Prompt, Step } from "@proviso/core";
import { logSafely } from "../logging.ts";
import type { Surroundings } from "../nested/inherit.ts";
import type { Run, Setup } from "../run.ts";
import { redactionOf, type Redaction } from "../secrets/structure.ts";
import type { Observing } from "./contract.ts";
import type { Observers } from "./observers.ts";
import { runAround, type Observed } from "./passing.ts";

/** Runs an evaluation inside the surroundings of the observers; its id is made, or read in its record, before it begins. */
export function aroundEvaluation<T>(
  observers: Observers,
  { world, provider }: Setup,
  prompt: Prompt,
  around: Surroundings & { readonly observe: NonNullable<Surroundings["observe"]> },
  evaluate: (around: Surroundings) => Promise<T>,
): T | Promise<T> {
  const evaluationId = around.evaluationId ?? idFrom(world);
  if (evaluationId === undefined) return evaluate(around);
  const own = redactionOf(world.secrets);
  let run: Run | undefined;
  // Once it runs, it hides the secrets of evaluations inside it, too.
  const redaction = (): Redaction => run?.redaction ?? own;
  const promptName = nameOf(prompt);
  const { nesting, watch } = around;
  const parent = nesting && Object.freeze({ evaluationId: nesting.run.evaluationId, callId: nesting.callId ?? "" });
  const { name, model } = provider;
  const of = { kind: "evaluation", evaluationId, promptName, provider: name, model } as const;
  const step: Step = Object.freeze({ ...of, streamed: watch !== undefined, ...(parent && { parent }) });
  const observed: Observed = {
    log(level, fields, message) {
      if (world.logger === undefined) return;
      logSafely(world.logger, level, () => redaction().log({ promptName, evaluationId, ...fields }), message);
    },
    hide: (value) => redaction().value(value),
  };
  const observe = (begun: Run): Observing => {
    run = begun;
    return around.observe(begun);
  };
  return runAround(observers, observed, step, () => evaluate({ ...around, observe, evaluationId }));
}

/** undefined: the evaluation cannot begin without an id, and says so itself. */
function idFrom({ newId }: Setup["world"]): string | undefined {
  try {
    return newId();
  } catch {
    return undefined;
  }
}

function nameOf(prompt: Prompt | undefined): string {
  try {
    const name: unknown = prompt?.template?.name;
    return typeof name === "string" ? name : "(no prompt)";
  } catch {
    return "(no prompt)";
  }
}
