import {
  DefinitionError,
  type Budget,
  type Deadline,
  type EvaluateOptions,
  type ParamsOf,
  type PromptTemplate,
  type ProviderAdapter,
} from "@proviso/core";
import { describeValue, toJsonValue } from "@proviso/core/internal";

/**
 * What a kind gives to each evaluation; the worker gives the rest. A session belongs to one run: give none, or a new one with
 * an id that is made of the run's, `createSession({ id: job.id })`. A run refuses to go on with a session that others changed.
 */
export type RunKindOptions = Omit<EvaluateOptions, "run" | "signal" | "deadline" | "budget">;

/** What workers can evaluate. Those who hand runs in and those who work on them know it by the name of its prompt. */
export interface RunKind<Params, Output> {
  /** The prompt; its name is the name of the kind. */
  readonly prompt: PromptTemplate<Params, Output>;
  /** What evaluates it. */
  readonly adapter: ProviderAdapter;
  /** The other options of an attempt, made anew for each. Left out: none. */
  readonly options?: ((job: RunJob) => RunKindOptions) | undefined;
}

/** A run that is handed in. */
export interface RunJob {
  /** The id of the run in the journal. Added twice, it is one run. */
  readonly id: string;
  /** 0 (most urgent) to 2,097,152. Default 1,000. */
  readonly priority?: number | undefined;
  /** Milliseconds until it may begin. Default 0. */
  readonly delayMs?: number | undefined;
  /** The moment by which it has ended, on whichever worker. Default: none. */
  readonly deadline?: Deadline | undefined;
  /** The budget of all of its attempts together. Default: none. */
  readonly budget?: Budget | undefined;
}

/**
 * Defines what workers can evaluate.
 * @throws {DefinitionError} for a prompt that is bound already, or for what is no prompt and no adapter.
 */
export function defineRun<T extends PromptTemplate<never, unknown>>(kind: {
  /** The prompt; its name is the name of the kind. */
  readonly prompt: T;
  /** What evaluates it. */
  readonly adapter: ProviderAdapter;
  /** The other options of an attempt, made anew for each. Left out: none. */
  readonly options?: RunKind<never, unknown>["options"];
}): RunKind<ParamsOf<T>, T extends PromptTemplate<never, infer Output> ? Output : never> {
  const { prompt, adapter, options } = kind;
  if (typeof prompt?.bind !== "function" || typeof prompt.name !== "string") {
    throw new DefinitionError(`defineRun needs a prompt that definePrompt made, not ${describeValue(prompt)}.`);
  }
  if (typeof adapter?.evaluate !== "function") {
    throw new DefinitionError(`defineRun needs an adapter, not ${describeValue(adapter)}.`);
  }
  if (options !== undefined && typeof options !== "function") {
    throw new DefinitionError(`defineRun: options must be a function, not ${describeValue(options)}.`);
  }
  const made: RunKind<never, unknown> = Object.freeze({ prompt, adapter, options });
  return made as unknown as ReturnType<typeof defineRun<T>>;
}

/** The kinds by the names of their prompts. @throws {DefinitionError} for none, or two of one name. */
export function kindsByName(kinds: readonly RunKind<never, unknown>[]): ReadonlyMap<string, RunKind<never, unknown>> {
  if (kinds.length === 0) throw new DefinitionError("A worker needs at least one kind of run.");
  const byName = new Map<string, RunKind<never, unknown>>();
  for (const kind of kinds) {
    const { name } = kind.prompt;
    if (byName.has(name)) {
      throw new DefinitionError(`Two kinds have the prompt "${name}": give one of the prompts another key.`);
    }
    byName.set(name, kind);
  }
  return byName;
}

/** The params as plain JSON. @throws {DefinitionError} for params that the prompt refuses, or that are no plain JSON. */
export function paramsOf<Params>({ prompt }: RunKind<Params, unknown>, params: Params): unknown {
  (prompt as PromptTemplate<unknown, unknown>).bind(params);
  if (params === undefined) return {};
  const plain = toJsonValue(params);
  if (plain === undefined) {
    throw new DefinitionError(
      `The params of "${prompt.name}" have to be plain JSON to reach a worker: no Map, Date, file or function.`,
    );
  }
  return plain.value;
}
