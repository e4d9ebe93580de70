import { DefinitionError, type ProviderAdapter, type Schema } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { environmentVariable, importFailure, requirePackage } from "@proviso/adapter-kit";
import type { PrimitiveDefinition } from "./definition.ts";
import { checkedSettings, type PrimitiveSettings } from "./settings.ts";

/** An adapter that is there, or that has to be loaded first. */
export interface AdapterSource {
  /** undefined where a ready adapter carries it. */
  readonly model: string | undefined;
  load(): Promise<ProviderAdapter> | ProviderAdapter;
}

type Given = Pick<PrimitiveDefinition<Schema>, "adapter" | "model" | "temperature" | "throttle">;

/** @throws {DefinitionError} for settings beside a ready adapter, for one that is none, and as `definePrimitive` says. */
export function adapterSource(given: Given): AdapterSource {
  const { adapter } = given;
  if (adapter === undefined) return loadedAdapter(checkedSettings(given));
  if (typeof adapter === "function") {
    const settings = checkedSettings(given);
    const made = checkedAdapter(adapter(settings));
    return { model: settings.model, load: () => made };
  }
  const ready = checkedAdapter(adapter);
  for (const name of ["model", "temperature", "throttle"] as const) {
    if (given[name] === undefined) continue;
    throw new DefinitionError(
      `The option ${name} cannot stand beside a ready adapter, which carries its own: give it to the adapter, ` +
        "or give a function that makes one: { adapter: (settings) => openai(settings) }.",
    );
  }
  return { model: undefined, load: () => ready };
}

function checkedAdapter(adapter: unknown): ProviderAdapter {
  const { name, evaluate } = (adapter ?? {}) as Partial<ProviderAdapter>;
  if (typeof name === "string" && typeof evaluate === "function") return adapter as ProviderAdapter;
  throw new DefinitionError(
    `The option adapter must be an adapter, or make one, such as openai: not ${describeValue(adapter)}.`,
  );
}

const adapterPackage = { name: "@proviso/adapter-ai-sdk", purpose: "a model that is given by its id" };

/** Rejects with a DefinitionError where the package is missing. */
async function loadAdapterPackage(): Promise<typeof import("@proviso/adapter-ai-sdk")> {
  try {
    return await import("@proviso/adapter-ai-sdk");
  } catch (error) {
    throw importFailure(adapterPackage, error);
  }
}

/** Reads the environment once, with the definition; the package is loaded with the first run. */
function loadedAdapter(settings: PrimitiveSettings): AdapterSource {
  const baseURL = environmentVariable("LITELLM_BASE_URL");
  const apiKey = environmentVariable("LITELLM_API_KEY");
  if (baseURL !== undefined && apiKey === undefined) {
    throw new DefinitionError(
      "LITELLM_BASE_URL is set, and LITELLM_API_KEY is not: any text will do for a proxy without keys.",
    );
  }
  requirePackage({ ...adapterPackage, resolve: import.meta.resolve });
  let loading: Promise<ProviderAdapter> | undefined;
  const load = async (): Promise<ProviderAdapter> => {
    const { aiSdk, litellm } = await loadAdapterPackage();
    return baseURL === undefined ? aiSdk(settings) : litellm({ ...settings, baseURL, apiKey });
  };
  return {
    model: settings.model,
    async load() {
      try {
        return await (loading ??= load());
      } catch (error) {
        // What was missing may be there the next time.
        loading = undefined;
        throw error;
      }
    },
  };
}
