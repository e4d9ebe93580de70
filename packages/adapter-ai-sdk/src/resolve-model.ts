import { DefinitionError } from "@proviso/core";
import { environmentVariable, importFailure, requirePackage } from "@proviso/adapter-kit";
import { checkVersion, type LanguageModel } from "./options.ts";

/** A model that may have to be loaded first; asked for with the first request. */
export interface ModelSource {
  /** The name of the provider that answers. */
  readonly name: string;
  readonly modelId: string;
  /** The model, or "gateway" or "litellm" where it is loaded later. */
  readonly of: LanguageModel | "gateway" | "litellm";
  /** What it is made with, beside the settings of every model. */
  readonly settings?: { readonly baseURL: string; readonly extraBody: unknown } | undefined;
  load(): Promise<LanguageModel> | LanguageModel;
}

interface Provider {
  languageModel(id: string): LanguageModel;
}

/**
 * Returns the source of a model. An id goes to `globalThis.AI_SDK_DEFAULT_PROVIDER`, as everywhere in the ecosystem,
 * and where there is none to the hosted gateway of the package "ai".
 * @throws {DefinitionError} for an id that no provider resolves, and where "ai" is needed and missing.
 */
export function modelSource(model: LanguageModel | string): ModelSource {
  if (typeof model !== "string") return { name: model.provider, modelId: model.modelId, of: model, load: () => model };
  const { AI_SDK_DEFAULT_PROVIDER: provider } = globalThis as { AI_SDK_DEFAULT_PROVIDER?: Provider };
  if (provider !== undefined) return modelSource(resolved(provider, model));
  if (!hasGatewayKey()) {
    throw new DefinitionError(
      `aiSdk({ model: "${model}" }): a bare id goes to the AI SDK's default provider, ` +
        "globalThis.AI_SDK_DEFAULT_PROVIDER, and without one to the hosted AI Gateway, which wants AI_GATEWAY_API_KEY. " +
        'Set one of them, or give the model itself: { model: openai("gpt-5.4") } of @ai-sdk/openai.',
    );
  }
  requirePackage({ ...aiPackage, resolve: import.meta.resolve });
  return {
    name: "gateway",
    modelId: model,
    of: "gateway",
    load: async () => {
      const { gateway } = await loadGateway();
      return gateway.languageModel(model);
    },
  };
}

/** Rejects with a DefinitionError where the package is missing. */
async function loadGateway(): Promise<Pick<typeof import("ai"), "gateway">> {
  try {
    return await import("ai");
  } catch (error) {
    throw importFailure(aiPackage, error);
  }
}

function resolved(provider: Provider, id: string): LanguageModel {
  try {
    const model = provider.languageModel(id);
    checkVersion(model);
    return model;
  } catch (cause) {
    if (cause instanceof DefinitionError) throw cause;
    throw new DefinitionError(`globalThis.AI_SDK_DEFAULT_PROVIDER has no model "${id}".`, { cause });
  }
}

const aiPackage = { name: "ai", purpose: "a model that is given by its id" };

/** Whether there is a key for the gateway; a token of the platform serves on Vercel. */
function hasGatewayKey(): boolean {
  return ["AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN", "VERCEL"].some((name) => environmentVariable(name) !== undefined);
}
