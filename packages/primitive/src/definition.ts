import type { InputOf, ProviderAdapter, Schema, ThrottlePolicy } from "@proviso/core";
import type { RecoveryPolicy } from "./recovery.ts";
import type { PrimitiveSettings } from "./settings.ts";

/** What `definePrimitive` takes. */
export interface PrimitiveDefinition<OS extends Schema> {
  /** The name in events and errors, and the key of the primitive's prompt. `^[a-z0-9][a-z0-9._-]{0,63}$`. */
  readonly name: string;
  /** The system message, as it is: nothing in it is a placeholder. */
  readonly systemPrompt: string;
  /** What `data` conforms to. */
  readonly output: OS;
  /** An id. Left out, and no ready adapter: PROVISO_MODEL. */
  readonly model?: string | undefined;
  /** How freely tokens are chosen, 0 to 2. Left out: the provider's own default. */
  readonly temperature?: number | undefined;
  /** Requests that the provider refuses for the moment are asked again, within these bounds. */
  readonly throttle?: Partial<ThrottlePolicy> | undefined;
  /**
   * A ready adapter carries its own model, temperature and throttle, so none of them may stand beside it. A function
   * makes one of them, at once: `adapter: openai`. Left out: a LiteLLM proxy where LITELLM_BASE_URL is set, else the
   * provider to which `aiSdk` resolves the id; both need `@proviso/adapter-ai-sdk`.
   */
  readonly adapter?: ProviderAdapter | ((settings: PrimitiveSettings) => ProviderAdapter) | undefined;
  /** Extra turns in which the model is shown why its answer does not fit. Default 1. */
  readonly maxRepairs?: number | undefined;
  /** Policies for local errors, in order: the first whose decision is not to bubble wins. */
  readonly recovery?: readonly RecoveryPolicy<NoInfer<InputOf<OS>>>[] | undefined;
  /** Retries that recovery policies may ask for in one run. Default 3. */
  readonly maxRecoveries?: number | undefined;
}
