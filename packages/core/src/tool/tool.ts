import type { BudgetTracker } from "../limits/budget.ts";
import type { Deadline } from "../limits/clock.ts";
import type { Prompt, RenderedPrompt } from "../prompt/template.ts";
import type { EvaluateOptions, PromptResponse, ProviderAdapter } from "../provider/adapter.ts";
import type { Resources, UsedResources } from "../resources/binding.ts";
import type { ResourceKey } from "../resources/key.ts";
import type { ObjectSchema, Schema } from "../schema.ts";
import type { SessionState } from "../state/session.ts";
import type { OutputOf } from "../types.ts";
import { frozenCopy } from "../frozen-copy.ts";
import { standardSchemaOf, type PlainJsonSchema } from "../validation/from-json-schema.ts";
import { checkTool, markChecked } from "./check-tool.ts";
import type { ToolReturn } from "./result.ts";

/** What a model may call; made by `defineTool`. */
export interface Tool<Input = unknown, Value = unknown> {
  /** `^[a-zA-Z0-9_-]{1,64}$`, as providers take it. */
  readonly name: string;
  /** What the tool does and when to call it; the model reads it. */
  readonly description: string;
  /** The schema of the arguments: an object. */
  readonly input: Schema<unknown, Input>;
  /**
   * The schema of the value that `execute` returns. A value that does not fit fails the call, and so does one with a key
   * that the schema does not name, where it is not a loose one. What the schema made of the value is the result's value.
   */
  readonly output?: Schema<unknown, Value> | undefined;
  /** Changes nothing: it may overlap with other read-only calls of its turn. Default false. */
  readonly readOnly?: boolean | undefined;
  /**
   * The resources that the handler asks for. A call locks these alone, and `[]` locks none, so that such calls overlap.
   * Left out: a call locks every snapshotable resource of its evaluation, and calls run one after another.
   */
  readonly uses?: readonly ResourceKey<unknown>[] | undefined;
  /** Doing it twice is the same as doing it once. */
  readonly idempotent?: boolean | undefined;
  /**
   * Declares that a failed call leaves nothing behind: the tool changes the session and resources that take part in
   * transactions, and nothing else. A run whose process ended, or was stopped, in the middle of the call runs it again without asking. Default false.
   */
  readonly transactional?: boolean | undefined;
  /** Milliseconds for policies' checks and the handler; left out: the evaluation's deadline alone. */
  readonly timeoutMs?: number | undefined;
  /** Shown to the model below the section's text; checked with the schemas when a prompt is defined. */
  readonly examples?:
    | readonly { readonly description: string; readonly input: Input; readonly output: Value }[]
    | undefined;
  /**
   * Throw, or return toolError, to fail: the call's changes are undone and the model reads the message. Returning
   * nothing is a success without a value.
   */
  execute(input: Input, context: ToolContext): Value | ToolReturn<Value> | Promise<Value | ToolReturn<Value>>;
  /**
   * Asked after a process ended, or a limit came, in the middle of a call of a run, where the tool is not `readOnly`, `idempotent` or
   * `transactional`: was it done? It has the call's own context, with its `idempotencyKey`, and may change nothing. What
   * throws, or takes longer than `timeoutMs` (30 seconds where none is given), answers "unknown". Default: "unknown".
   */
  reconcile?(input: Input, context: ToolContext): Reconciled<Value> | Promise<Reconciled<Value>>;
}

/**
 * What is known of a call that may have been done. "not-started": it is run; a result: it was done, and that came of it;
 * "unknown": the model reads that.
 */
export type Reconciled<Value> = "not-started" | "unknown" | ToolReturn<Value>;

/** What `context.evaluate` takes: the session and the signal are the call's; `adapter` is its own unless given. */
export type NestedOptions = Omit<EvaluateOptions, "session" | "signal" | "run"> & {
  /** The adapter of the nested evaluation. Default: that of the call. */
  readonly adapter?: ProviderAdapter | undefined;
};

/**
 * The type of a handler's second parameter. With `uses`, `resources` has those keys alone; without it, it is asked for any
 * resource when the handler runs.
 */
export type ContextFor<Uses extends readonly ResourceKey<unknown>[] | undefined> = [Uses] extends [
  readonly ResourceKey<unknown>[],
]
  ? Omit<ToolContext, "resources"> & { readonly resources: UsedResources<Uses[number]> }
  : ToolContext;

/**
 * What the `input` of a tool may be: a Standard Schema of an object, or JSON Schema (draft 2020-12) with `type: "object"`,
 * where the tool is known only at run time.
 */
export type ToolSchema = ObjectSchema | PlainJsonSchema;

/** What `execute` gets: what a schema makes of the arguments, or the arguments themselves where it is JSON Schema. */
export type ToolInput<IS> = IS extends Schema<unknown, infer Input> ? Input : Readonly<Record<string, unknown>>;

/** An object of schemas, `{ a: z.string() }`, is no schema: it does not compile where a schema is wanted. */
type NoShape<IS> = IS extends Readonly<Record<string, Schema>> ? never : unknown;

/** What `defineTool` takes: `execute`'s input is inferred from the `input` schema, its resources from `uses`. */
export interface ToolDefinition<
  IS extends ToolSchema,
  Value,
  Uses extends readonly ResourceKey<unknown>[] | undefined = undefined,
> extends Omit<Tool<ToolInput<IS>, Value>, "input" | "output" | "examples" | "uses" | "execute" | "reconcile"> {
  /** An object schema. JSON Schema goes to the model as it is; its unknown keys are refused as those of other schemas are. */
  readonly input: IS & NoShape<IS>;
  /**
   * The schema of the value that `execute` returns. A value that does not fit fails the call, and so does one with a key
   * that the schema does not name, where it is not a loose one. What the schema made of the value is the result's value.
   */
  readonly output?: Schema<unknown, Value> | PlainJsonSchema | undefined;
  /**
   * The resources that the handler asks for, and the only ones that its context offers. A call locks these alone; `[]`
   * locks none, so that such calls of one turn overlap. Left out: all snapshotable resources of the evaluation.
   */
  readonly uses?: Uses;
  /**
   * Throw, or return toolError, to fail: the call's changes are undone and the model reads the message. Returning
   * nothing is a success without a value.
   */
  execute(
    input: ToolInput<IS>,
    context: ContextFor<Uses>,
  ): Value | ToolReturn<Value> | Promise<Value | ToolReturn<Value>>;
  /**
   * Asked after a process ended, or a limit came, in the middle of a call of a run, where the tool is not `readOnly`, `idempotent` or
   * `transactional`: was it done? It has the call's own context, with its `idempotencyKey`, and may change nothing. What
   * throws, or takes longer than `timeoutMs` (30 seconds where none is given), answers "unknown". Default: "unknown".
   */
  reconcile?(
    input: ToolInput<IS>,
    context: ContextFor<Uses>,
  ): Reconciled<NoInfer<Value>> | Promise<Reconciled<NoInfer<Value>>>;
  /** Shown to the model below the section's text; checked with the schemas when a prompt is defined. */
  readonly examples?:
    | readonly {
        readonly description: string;
        readonly input: NoInfer<ToolInput<IS>>;
        readonly output: NoInfer<Value>;
      }[]
    | undefined;
}

/**
 * A function that a model may call: `execute` gets the arguments, frozen, once they fit the schema, and its call is a
 * transaction. Calls that are neither `readOnly` nor declare `uses: []` run one after another, also within a turn.
 * @example
 * ```ts
 * import { defineTool } from "@proviso/core";
 * import { z } from "zod";
 *
 * const double = defineTool({
 *   name: "double",
 *   description: "Doubles a number.",
 *   input: z.object({ n: z.number() }),
 *   readOnly: true,
 *   execute: ({ n }) => n * 2,
 * });
 * console.log(double.name); // double
 * ```
 * @throws {DefinitionError} on a malformed name, without a description or `execute`, an input that is not an object or has a key that no JSON may have, JSON Schema that cannot be used, `uses` that holds no resource keys, a timeout that is not positive.
 */
export function defineTool<
  IS extends ToolSchema,
  Value,
  const Uses extends readonly ResourceKey<unknown>[] | undefined = undefined,
>(tool: ToolDefinition<IS, Value, Uses>): Tool<ToolInput<IS>, Value> {
  const { input, output } = checkTool(tool, standardSchemaOf);
  const schemas = { input, ...(output === undefined ? {} : { output }) };
  // ToolInput<IS> is what `input` yields; the compiler cannot see it through the conditional type.
  return markChecked(frozenCopy({ ...tool, ...schemas }, [])) as unknown as Tool<ToolInput<IS>, Value>;
}

/** How far a call is. */
export interface ProgressOfCall {
  /** How much is done, in whatever the tool counts: 0 or more. */
  readonly done: number;
  /** How much there is to do: 0 or more. Left out: not known. */
  readonly total?: number | undefined;
  /** What the tool is doing, for people. */
  readonly message?: string | undefined;
}

/** What a handler, and a policy, may use while its call lasts. */
export interface ToolContext {
  /** The id of the call: the model's, or a new one where that was missing or repeated. */
  readonly callId: string;
  /** The turn's number, from 1. */
  readonly turn: number;
  /**
   * 22 characters of base64url, for services that do nothing twice under one key. The key is made of the run, the place of
   * the call in it, the tool's name and the arguments: it is the same whenever this call of this run is run again, by
   * whichever process, and another one for every other call. Without a run it is made of the evaluation's id.
   */
  readonly idempotencyKey: string;
  /** The attempt of the run, from 1. It grows with each continuation: a fencing token for services that take one. */
  readonly attempt: number;
  /** The id of the evaluation that the call belongs to. */
  readonly evaluationId: string;
  /** The prompt that is evaluated. */
  readonly prompt: Prompt;
  /** The prompt as the model read it in this turn. */
  readonly rendered: RenderedPrompt;
  /** The adapter of the evaluation. */
  readonly adapter: ProviderAdapter;
  /** The session. What is dispatched here is undone if the call fails. */
  readonly session: SessionState;
  /** The resources of the evaluation, by key. */
  readonly resources: Resources;
  /** The deadline of the evaluation; undefined where there is none. */
  readonly deadline: Deadline | undefined;
  /** The budget of the evaluation; undefined where there is none. */
  readonly budget: BudgetTracker | undefined;
  /** Fires at the deadline, an abort, or the tool's timeout. */
  readonly signal: AbortSignal;
  /**
   * Emits `tool.progress` for the session's listeners and the stream, whatever becomes of the call. It emits nothing after
   * the call is over.
   * @throws {DefinitionError} for numbers that are not finite or are negative, and for a message that is no text.
   */
  progress(progress: ProgressOfCall): void;
  /** A text is a prompt of one user message, as it is for `adapter.evaluate`. */
  evaluate(text: string, options?: NestedOptions): Promise<PromptResponse<string>>;
  /**
   * Evaluates another prompt inside this call: same session, limits and signal, narrowed by what is given here; its
   * state changes belong to this call.
   */
  evaluate<Output>(prompt: Prompt<Output>, options?: NestedOptions): Promise<PromptResponse<Output>>;
  /** Evaluates one of several prompts, or a text, as was chosen at run time. */
  evaluate<Asked extends Prompt | string>(
    asked: Asked,
    options?: NestedOptions,
  ): Promise<PromptResponse<OutputOf<Asked>>>;
}
