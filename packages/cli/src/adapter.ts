import { DefinitionError, type ProviderAdapter } from "@proviso/core";
import type { AdapterOptions } from "@proviso/runtime";
import type { ProvisoConfig } from "./config.ts";
import { installed } from "./optional-packages.ts";
import { didYouMean, shown, UsageError } from "./usage.ts";
import type { World } from "./world.ts";

/** What a command needs an adapter for. */
export interface AdapterRequest {
  /** The command, for messages. */
  readonly command: string;
  /** `provider/model`; undefined: that of the config. */
  readonly model: string | undefined;
  readonly config: ProvisoConfig;
  /** What the adapter is made with, beside the clock. */
  readonly options?: AdapterOptions | undefined;
}

type Maker = (model: string, options: AdapterOptions, env: World["env"]) => Promise<ProviderAdapter>;

const makers: Readonly<Record<string, Maker>> = {
  async openai(model, options, { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseURL }) {
    const loading = import("@proviso/adapter-openai");
    const { openai } = await installed("--model openai/…", ["@proviso/adapter-openai"], loading);
    return openai({ ...options, model, apiKey, baseURL });
  },
  async litellm(model, options, { LITELLM_API_KEY: apiKey, LITELLM_BASE_URL: baseURL }) {
    const packages = ["@proviso/adapter-ai-sdk", "@ai-sdk/openai-compatible"];
    const { litellm } = await installed("--model litellm/…", packages, import("@proviso/adapter-ai-sdk"));
    return litellm({ ...options, model, apiKey, baseURL });
  },
};

/**
 * Makes the adapter that a command asks: of `--model`, else of the config.
 * @throws {UsageError} where there is none, where it cannot be made, and for a package that is missing.
 */
export async function adapterFor({ command, model, config, options }: AdapterRequest, world: World) {
  const all: AdapterOptions = { clock: world.clock, ...options };
  try {
    if (model !== undefined) return await named(model, all, world);
    if (config.adapter !== undefined) return config.adapter(all);
  } catch (error) {
    if (error instanceof DefinitionError) throw new UsageError(error.message);
    throw error;
  }
  const names = Object.keys(makers).map((name) => `${name}/<id>`);
  throw new UsageError(`${command} needs a model: --model ${names.join(" or ")}, or an adapter in proviso.config.ts`);
}

async function named(model: string, options: AdapterOptions, { env }: World): Promise<ProviderAdapter> {
  const at = model.indexOf("/");
  const [provider, id] = [model.slice(0, Math.max(at, 0)), model.slice(at + 1)];
  const make = Object.hasOwn(makers, provider) ? makers[provider] : undefined;
  if (make !== undefined && id !== "") return await make(id, options, env);
  const near = provider === "" ? "" : didYouMean(provider, Object.keys(makers));
  throw new UsageError(`--model takes openai/<id> or litellm/<id>, not ${shown(model)}${near}`);
}
