import type { Budget } from "../limits/budget.ts";
import type { Usage } from "../limits/usage.ts";
import type { PromptDescriptor } from "../prompt/descriptor.ts";
import type { RenderedSection } from "../prompt/rendered-sections.ts";
import type { EventBase } from "./event-base.ts";

/* oxlint-disable proviso/plain-words -- ToldLimits is a public name */
/** The limits that an evaluation began with. */
export interface ToldLimits {
  /** Epoch milliseconds: the earliest of all deadlines that hold for it; left out: there is none. */
  readonly deadline?: number | undefined;
  /** The budget that leaves the fewest tokens or dollars, and what was spent of it already; left out: there is none. */
  readonly budget?: (Omit<Budget, "deadline"> & { readonly consumed: Usage }) | undefined;
  /** The most turns. */
  readonly maxTurns: number;
}
/* oxlint-enable proviso/plain-words */

/** An evaluation begins: what the model will be shown. */
export interface PromptRendered extends EventBase<"prompt.rendered"> {
  /** `namespace/key` of the prompt. */
  readonly promptName: string;
  /** The name of the adapter. */
  readonly adapter: string;
  /** The model that will be asked. */
  readonly model: string;
  /** The text of the prompt, system and user. */
  readonly text: string;
  /** The names of the tools that are offered. */
  readonly tools: readonly string[];
  /** The params that the prompt was bound with. */
  readonly params: Readonly<Record<string, unknown>>;
  /** The names and hashes of the texts. */
  readonly descriptor: PromptDescriptor;
  /** What became of the override; undefined where there was none. */
  readonly overrides:
    | { readonly tag: string; readonly applied: readonly string[]; readonly stale: readonly string[] }
    | undefined;
  /** The parts of the text in its order: only an empty line is between two of them. */
  readonly sections: readonly RenderedSection[];
  /** The limits that the evaluation began with. */
  readonly limits: ToldLimits; // oxlint-disable-line proviso/plain-words -- a public name
  /** "json" where the prompt has an output schema. */
  readonly output: "text" | "json";
  /** How many messages of earlier evaluations go before those of this one. */
  readonly earlierMessages: number;
}
