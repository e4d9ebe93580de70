import { describeValue } from "../describe-value.ts";
import { DefinitionError } from "../errors.ts";
import type { BudgetTracker } from "../limits/budget.ts";
import type { Deadline } from "../limits/deadline.ts";
import type { Prompt, RenderedPrompt } from "../prompt/template.ts";
import type { EvaluateOptions, PromptResponse, ProviderAdapter } from "../provider/adapter.ts";
import type { Resources } from "../resources/binding.ts";
import { containerOf, jsonSchemaOf, type ObjectSchema, type Schema } from "../schema.ts";
import type { SessionState } from "../state/session.ts";
import type { OutputOf } from "../types.ts";
import type { ToolReturn } from "./result.ts";

/** What a model may call; made by `defineTool`. */
export interface Tool<Input = unknown, Value = unknown> {
  /** `^[a-zA-Z0-9_-]{1,64}$`, as providers take it. */
  readonly name: string;
  readonly description: string;
  readonly input: Schema<unknown, Input>;
  readonly output?: Schema<unknown, Value> | undefined;
  /** Changes nothing: may overlap with other read-only calls of its turn. */
  readonly readOnly?: boolean | undefined;
  /** Doing it twice is the same as doing it once. */
  readonly idempotent?: boolean | undefined;
  /** Milliseconds; left out: the evaluation's deadline alone. */
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
}

/** What `defineTool` takes: `execute`'s input is inferred from the `input` schema. */
export interface ToolDefinition<IS extends ObjectSchema, Value> extends Omit<
  Tool<OutputOf<IS>, Value>,
  "input" | "examples"
> {
  /** An object schema. */
  readonly input: IS;
  /** Shown to the model below the section's text; checked with the schemas when a prompt is defined. */
  readonly examples?:
    | readonly {
        readonly description: string;
        readonly input: NoInfer<OutputOf<IS>>;
        readonly output: NoInfer<Value>;
      }[]
    | undefined;
}

const namePattern = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * A function that a model may call: `execute` gets the arguments once they fit the schema, and its call is a transaction.
 * @throws {DefinitionError} on a malformed name, without a description or `execute`, an input that is not an object, a timeout that is not positive.
 */
export function defineTool<IS extends ObjectSchema, Value>(tool: ToolDefinition<IS, Value>): Tool<OutputOf<IS>, Value> {
  const { name, description, execute } = tool as { readonly [K in keyof typeof tool]: unknown };
  if (typeof name !== "string" || !namePattern.test(name)) {
    throw new DefinitionError(
      `The tool name ${typeof name === "string" ? JSON.stringify(name) : describeValue(name)} must match ${namePattern.source}.`,
    );
  }
  if (typeof description !== "string") throw new DefinitionError(`The tool "${name}" needs a description: a text.`);
  if (typeof execute !== "function") throw new DefinitionError(`The tool "${name}" needs execute: a function.`);
  if (containerOf(jsonSchemaOf(tool.input, "input")) !== "object") {
    throw new DefinitionError(`The input of tool "${tool.name}" must be an object schema.`);
  }
  if (tool.timeoutMs !== undefined && !(Number.isFinite(tool.timeoutMs) && tool.timeoutMs > 0)) {
    throw new DefinitionError(`The timeoutMs of tool "${tool.name}" must be a positive number, not ${tool.timeoutMs}.`);
  }
  // OutputOf<IS> is what `input` yields; the compiler cannot see it through the conditional type.
  return Object.freeze({ ...tool }) as unknown as Tool<OutputOf<IS>, Value>;
}

/** What a handler, and a policy, may use while its call lasts. */
export interface ToolContext {
  readonly callId: string;
  /** From 1. */
  readonly turn: number;
  readonly evaluationId: string;
  readonly prompt: Prompt;
  readonly rendered: RenderedPrompt;
  readonly adapter: ProviderAdapter;
  readonly session: SessionState;
  readonly resources: Resources;
  readonly deadline: Deadline | undefined;
  readonly budget: BudgetTracker | undefined;
  /** Fires at the deadline, an abort, or the tool's timeout. */
  readonly signal: AbortSignal;
  /**
   * Evaluates another prompt inside this call: same session, limits and signal, narrowed by what is given here; its
   * state changes belong to this call.
   */
  evaluate<Output>(
    prompt: Prompt<Output>,
    options?: Omit<EvaluateOptions, "session" | "signal"> & { readonly adapter?: ProviderAdapter | undefined },
  ): Promise<PromptResponse<Output>>;
}
