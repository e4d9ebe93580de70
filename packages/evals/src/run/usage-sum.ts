import type { Usage } from "@proviso/core";
import { addUsage, noUsage } from "@proviso/core/internal";

/** Adds usages up, as `addUsage` does, without an object for each of them. */
export class UsageSum {
  #inputTokens = 0;
  #outputTokens = 0;
  #totalTokens = 0;
  #cachedInputTokens = 0;
  #cacheWriteTokens = 0;
  #reasoningTokens = 0;
  #costUsd: number | undefined;
  #estimated = false;

  add(usage: Usage): this {
    if (usage === noUsage) return this;
    this.#inputTokens += usage.inputTokens;
    this.#outputTokens += usage.outputTokens;
    this.#totalTokens += usage.totalTokens;
    this.#cachedInputTokens += usage.cachedInputTokens;
    this.#cacheWriteTokens += usage.cacheWriteTokens;
    this.#reasoningTokens += usage.reasoningTokens;
    if (usage.costUsd !== undefined) this.#costUsd = (this.#costUsd ?? 0) + usage.costUsd;
    if (usage.estimated) this.#estimated = true;
    return this;
  }

  get usage(): Usage {
    const sum = {
      inputTokens: this.#inputTokens,
      outputTokens: this.#outputTokens,
      totalTokens: this.#totalTokens,
      cachedInputTokens: this.#cachedInputTokens,
      cacheWriteTokens: this.#cacheWriteTokens,
      reasoningTokens: this.#reasoningTokens,
      estimated: this.#estimated,
    };
    // Finite, however much it is.
    return addUsage(this.#costUsd === undefined ? sum : { ...sum, costUsd: this.#costUsd }, noUsage);
  }
}
