import type { Prompt, PromptTemplate, ProviderAdapter } from "@proviso/core";
import { estimate, type Estimate, type EstimateOptions } from "@proviso/estimation";
import type { AdapterSource } from "./model-source.ts";
import type { Payload } from "./payload.ts";

/**
 * For every payload, and also where the model cannot be reached: then nothing would be sent, and `fault` says why.
 * @throws {DefinitionError} for a history that is none.
 */
export async function estimateRun<Output>(
  template: PromptTemplate<Payload, Output>,
  source: AdapterSource,
  payload: string,
  history: EstimateOptions["history"],
): Promise<Estimate> {
  let adapter = nobody;
  let prompt: Prompt<Output>;
  try {
    prompt = template.bind({ payload });
    adapter = await source.load();
  } catch (error) {
    prompt = unsendable(template.bind({ payload: "(none)" }), error);
  }
  return estimate(prompt, { adapter, history });
}

/** What would keep it from being sent keeps it from being rendered: `estimate` tells the rest. */
function unsendable<Output>(prompt: Prompt<Output>, error: unknown): Prompt<Output> {
  return {
    ...prompt,
    render() {
      throw error;
    },
  };
}

const notAsked = (): never => {
  throw new Error("An estimate asks nobody.");
};

/** In place of an adapter that cannot be had. */
const nobody: ProviderAdapter = Object.freeze({ name: "nobody", evaluate: notAsked, stream: notAsked });
