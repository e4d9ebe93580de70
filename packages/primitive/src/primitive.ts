import {
  DefinitionError,
  type BudgetTracker,
  type EvaluateOptions,
  type OutputOf,
  type Prompt,
  type PromptResponse,
  type PromptTemplate,
  type ProviderAdapter,
  type Schema,
} from "@proviso/core";
import { checkOptionNames, type OptionNames } from "@proviso/core/provider";
import { addUsage, noUsage } from "@proviso/core/internal";
import { trackerOf } from "@proviso/runtime/internal";
import type { Estimate, EstimateOptions } from "@proviso/estimation";
import type { PrimitiveDefinition } from "./definition.ts";
import { estimateRun } from "./estimation.ts";
import { adapterSource, type AdapterSource } from "./model-source.ts";
import { promptOf, type Payload } from "./payload.ts";
import { checkedPolicies, recoveryFrom, type Failed, type Recovery, type RecoveryPolicy } from "./recovery.ts";
import {
  adapterError,
  answerOf,
  failureOf,
  localError,
  unreachableModel,
  type Answer,
  type PrimitiveResult,
} from "./result.ts";
import { checkedCounts } from "./settings.ts";

/** The provisos of one run. */
export type RunOptions = Pick<EvaluateOptions, "signal" | "deadline" | "budget" | "session" | "expect">;

const runNames = {
  signal: true,
  deadline: true,
  budget: true,
  session: true,
  expect: true,
} as const satisfies OptionNames<RunOptions>;

/** A stateless block around one prompt. Immutable. */
export interface Primitive<Output> {
  /** The name, which events and errors carry. */
  readonly name: string;
  /** The id that it was defined with; undefined where a ready adapter carries it. */
  readonly model: string | undefined;
  /** The prompt that is evaluated, to render, estimate or stream it. */
  readonly prompt: PromptTemplate<Payload, Output>;
  /**
   * One evaluation. Never rejects: a payload that is none, an option that it does not know and a model that fails are
   * results too. Nothing is left to retry for the caller.
   */
  run(payload: string, options?: RunOptions): Promise<PrimitiveResult<Output>>;
  /**
   * What a run will probably spend: no request, no event, nothing written. Answers for every payload; one that would
   * not be sent costs nothing, and `fault` says why. Its result is good for a run's `expect`.
   * @throws {DefinitionError} for a history that is none.
   */
  estimateExecution(payload: string, options?: Pick<EstimateOptions, "history">): Promise<Estimate>;
}

/** What a run needs of its definition. */
interface Block<Output> {
  readonly template: PromptTemplate<Payload, Output>;
  readonly schema: Schema<unknown, Output>;
  readonly source: AdapterSource;
  readonly policies: readonly RecoveryPolicy<unknown>[];
  readonly maxRepairs: number;
  readonly maxRecoveries: number;
}

const definitionNames = {
  name: true,
  systemPrompt: true,
  output: true,
  model: true,
  temperature: true,
  throttle: true,
  adapter: true,
  maxRepairs: true,
  recovery: true,
  maxRecoveries: true,
} as const satisfies OptionNames<PrimitiveDefinition<Schema>>;

/**
 * A stateless block: a system prompt, an output schema and a model. The configuration is read once and copied.
 * @example
 * ```ts
 * import { definePrimitive } from "@proviso/primitive";
 * import { modelAdapter } from "@proviso/runtime";
 * import { scriptedModel } from "@proviso/runtime/testing";
 * import { z } from "zod";
 *
 * const classify = definePrimitive({
 *   name: "classify",
 *   systemPrompt: "Is the review positive?",
 *   output: z.object({ positive: z.boolean() }),
 *   adapter: modelAdapter(scriptedModel([{ output: { positive: true } }])),
 * });
 * const result = await classify.run("Best pizza in town!");
 * console.log(result.success && result.data.positive); // true
 * ```
 * @throws {DefinitionError} for an option that cannot be, for `model`, `temperature` or `throttle` beside a ready
 * adapter, and where there is neither a model nor an adapter.
 */
export function definePrimitive<OS extends Schema>(definition: PrimitiveDefinition<OS>): Primitive<OutputOf<OS>> {
  type Output = OutputOf<OS>;
  if (typeof definition !== "object" || definition === null) {
    throw new DefinitionError("definePrimitive needs { name, systemPrompt, output, model }.");
  }
  const { name, systemPrompt, output, recovery = [] } = definition;
  checkOptionNames("definePrimitive", definition, definitionNames);
  const template = promptOf(name, systemPrompt, output);
  const block: Block<Output> = Object.freeze({
    template,
    schema: output as Schema<unknown, Output>,
    policies: checkedPolicies(recovery),
    ...checkedCounts(definition),
    source: adapterSource(definition),
  });
  return Object.freeze({
    name,
    model: block.source.model,
    prompt: template,
    run: (payload: string, options?: RunOptions) => run(block, payload, options),
    estimateExecution: (payload: string, given?: Pick<EstimateOptions, "history">) =>
      estimateRun(template, block.source, payload, given?.history),
  });
}

async function run<Output>(
  block: Block<Output>,
  given: string,
  options: RunOptions = {},
): Promise<PrimitiveResult<Output>> {
  let payload = given;
  let usage = noUsage;
  const share = budgetOnce(options);
  for (let attempts = 1; ; attempts++) {
    const outcome = await attempt(block, payload, options, share);
    usage = addUsage(usage, "response" in outcome ? outcome.usage : outcome.error.usage);
    const spent = { usage, attempts };
    if ("response" in outcome) {
      const { response, data } = outcome;
      return Object.freeze({ success: true, data, response, ...spent });
    }
    const recovery = await recoveryOf(block, { ...outcome, payload, attempt: attempts });
    if (recovery.kind === "retry") payload = recovery.payload;
    else if (recovery.kind === "data") {
      return Object.freeze({ success: true, data: recovery.data, response: undefined, ...spent });
    } else return failureOf(outcome.error, { ...spent, recoveryError: recovery.fault });
  }
}

type Outcome<Output> = Answer<Output> | Failed;

async function attempt<Output>(
  { template, source, maxRepairs }: Block<Output>,
  payload: string,
  options: RunOptions,
  budgetOf: () => BudgetTracker | undefined,
): Promise<Outcome<Output>> {
  let prompt: Prompt<Output>;
  try {
    prompt = template.bind({ payload });
  } catch (error) {
    return { error: localError(error, template.name), isUnsendable: true };
  }
  let begin: (adapter: ProviderAdapter) => Promise<PromptResponse<Output>>;
  try {
    checkOptionNames("run", options, runNames);
    const { signal, deadline, session, expect } = options;
    const given = { signal, deadline, session, expect, budget: budgetOf(), maxRepairs };
    begin = (adapter) => adapter.evaluate(prompt, given);
  } catch (error) {
    return { error: localError(error, template.name) };
  }
  let adapter: ProviderAdapter;
  try {
    adapter = await source.load();
  } catch (error) {
    return { error: unreachableModel(error, template.name) };
  }
  try {
    return answerOf(await begin(adapter));
  } catch (error) {
    return { error: adapterError(error, template.name) };
  }
}

/** One tracker for all attempts of a run, or a plain budget would count each of them from zero. */
function budgetOnce(options: RunOptions): () => BudgetTracker | undefined {
  let tracker: BudgetTracker | undefined;
  return () => {
    const { budget } = options;
    return (tracker ??= trackerOf(budget));
  };
}

async function recoveryOf<Output>(
  { policies, schema, maxRecoveries }: Block<Output>,
  failed: Parameters<typeof recoveryFrom>[2],
): Promise<Recovery<Output>> {
  const recovery = await recoveryFrom(policies, schema, failed);
  return recovery.kind === "retry" && failed.attempt > maxRecoveries ? { kind: "bubble" } : recovery;
}
