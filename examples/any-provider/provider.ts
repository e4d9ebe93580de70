import { aiSdk, litellm } from "@proviso/adapter-ai-sdk";
import { openai } from "@proviso/adapter-openai";
import { DefinitionError, type ProviderAdapter } from "@proviso/core";
import { startSimulator, type SimulatedRequest, type SimulatorStep } from "@proviso/simulator";
import { wordsOf } from "./word-count.ts";

export interface Provider extends AsyncDisposable {
  readonly adapter: ProviderAdapter;
  readonly about: string;
}

/**
 * The provider that an id such as `anthropic/claude-sonnet-4-5` names; without one a simulator on this machine. Keys
 * come from the environment, under each provider's own name.
 * @throws {DefinitionError} for a provider that is not known, and for a missing key.
 */
export async function providerFor(id: string | undefined): Promise<Provider> {
  if (id === undefined || id.trim() === "") return simulated();
  const [name = "", ...rest] = id.trim().split("/");
  const model = rest.join("/");
  if (model === "") throw unknown(id);
  return { adapter: await adapterFor(id, name, model), about: id, [Symbol.asyncDispose]: async () => {} };
}

async function adapterFor(id: string, name: string, model: string): Promise<ProviderAdapter> {
  switch (name) {
    case "openai":
      return openai({ model });
    case "anthropic":
      return aiSdk({ model: (await import("@ai-sdk/anthropic")).anthropic(model) });
    case "google":
      return aiSdk({ model: (await import("@ai-sdk/google")).google(model) });
    case "litellm":
      return litellm({ model });
    default:
      throw unknown(id);
  }
}

function unknown(id: string): DefinitionError {
  const known = "openai/<model>, anthropic/<model>, google/<model> or litellm/<model>";
  return new DefinitionError(`PROVISO_MODEL is ${known}, not ${JSON.stringify(id)}.`);
}

async function simulated(): Promise<Provider> {
  const simulator = await startSimulator({ rules: [simulatedCounter] });
  return {
    adapter: openai({ model: "simulated", baseURL: simulator.baseURL, apiKey: "none" }),
    about: `a simulator on ${simulator.baseURL}`,
    [Symbol.asyncDispose]: () => simulator.close(),
  };
}

/** Stands in for a model: counts with the tool, then answers from what it was told. */
export function simulatedCounter({ messages, toolResults }: SimulatedRequest): SimulatorStep {
  const asked = messages.find(({ role }) => role === "user")?.text ?? "";
  const text = asked.slice(asked.indexOf("\n\n") + 2);
  const counted = toolResults().at(-1);
  if (counted === undefined) return { toolCalls: [{ name: "count_words", arguments: { text } }] };
  const [longest = ""] = wordsOf(text).toSorted((a, b) => b.length - a.length);
  return { output: { words: Number(/\d+/.exec(counted.text)?.[0]), longest } };
}
