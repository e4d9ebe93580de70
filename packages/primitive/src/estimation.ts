import type { Prompt, PromptTemplate, ProviderAdapter } from "@proviso/core";
import { estimate, type Estimate, type EstimateOptions } from "@proviso/estimation";
import type { AdapterSource } from "./model-source.ts";
import type { Payload } from "./payload.ts";

/**
 * Estimates a run for any payload, and also where the model cannot be reached: then nothing would be sent, and `fault`
 * has the reason.
 * @throws {DefinitionError} for a history that is none.
 */
export async function estimateRun<Output>(
  template: PromptTemplate<Payload, Output>,
  source: AdapterSource,
  payload: string,
  history: EstimateOptions["history"],
): Promise<Estimate> {
  let adapter = unreachable;
  let prompt: Prompt<Output>;
  try {
    prompt = template.bind({ payload });
    adapter = await source.load();
  } catch (error) {
    prompt = unsendable(template.bind({ payload: "(none)" }), error);
  }
  return estimate(prompt, { adapter, history });
}

/**
 * Makes a prompt whose rendering fails with the error that would keep it from being sent, so that `estimate` reports
 * it.
 */
function unsendable<Output>(prompt: Prompt<Output>, error: unknown): Prompt<Output> {
  return {
    ...prompt,
    render() {
      throw error;
    },
  };
}

const notAsked = (): never => {
  throw new Error("An estimate asks unreachable.");
};

/** Stands in for an adapter that cannot be made. */
const unreachable: ProviderAdapter = Object.freeze({ name: "unreachable", evaluate: notAsked, stream: notAsked });
