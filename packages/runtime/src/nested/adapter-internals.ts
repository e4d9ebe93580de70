import type { Clock, EvaluateOptions, FileSupport, Pace, Prompt, PromptResponse, ProviderAdapter } from "@proviso/core";
import { isObjectOrFunction } from "@proviso/core/internal";
import { hiddenField } from "../hidden-field.ts";
import type { AdapterOptions } from "../adapter-options.ts";
import type { Nesting } from "../run.ts";
import type { Prices } from "../prices.ts";
import type { ChainMember, Chain } from "../request/chain.ts";
import type { Secrets } from "../secrets.ts";

/** What is known of an adapter before it is asked anything. */
export interface AdapterFacts {
  /** The name of the provider. */
  readonly name: string;
  readonly model: string;
  /** A hash of what else decides the answers; undefined: nothing that the adapter knows of. */
  readonly settingsHash: string | undefined;
  /** The adapter's own, which an evaluation may replace; undefined: the model chooses. */
  readonly toolChoice: AdapterOptions["toolChoice"];
  /** false: an agent, which asks its model itself. */
  readonly isModel: boolean;
  readonly nativeOutput: boolean;
  /** The most output tokens of one request. */
  readonly maxOutputTokens: number | undefined;
  /** The files that the model or the agent takes; undefined: none. */
  readonly files: FileSupport | undefined;
  readonly clock: Clock;
  readonly prices: Prices;
  /** Whether its answers say what they cost. */
  readonly reportsCost: boolean;
}

/** Evaluates inside the tool call that `nesting` describes; undefined: an evaluation of its own. */
type Evaluator = <Output>(
  prompt: Prompt<Output> | string,
  options: EvaluateOptions,
  nesting: Nesting | undefined,
) => Promise<PromptResponse<Output>>;

/** What the runtime keeps of an adapter beyond its public members. */
export interface AdapterInternals {
  readonly evaluate: Evaluator;
  readonly facts: AdapterFacts;
  /** Hides its secrets in any value; undefined: it has none. */
  readonly redact: Secrets["redact"] | undefined;
  /** Makes an adapter like this one whose requests keep this pace. */
  atPace(pace: Pace): ProviderAdapter;
  /** What it brings to a chain. */
  readonly asked: ChainMember;
  /** Makes an adapter of a chain that begins with this one: it has its policy, its tool choice and its environment. */
  leads(chain: Chain): ProviderAdapter;
}

const internals = /* @__PURE__ */ hiddenField<AdapterInternals>();

export function rememberInternals(adapter: ProviderAdapter, known: AdapterInternals): void {
  internals.set(adapter, known);
}

/** undefined for an adapter that neither modelAdapter nor agentAdapter made. */
export function internalsOf(adapter: ProviderAdapter): AdapterInternals | undefined {
  // A program without types may give anything.
  return isObjectOrFunction(adapter) ? internals.of(adapter) : undefined;
}
