import type { FileRef } from "../content/file.ts";
import type { Budget, BudgetTracker } from "../limits/budget.ts";
import type { Deadline } from "../limits/clock.ts";
import type { Usage } from "../limits/usage.ts";
import type { OverridesStore } from "../prompt/overrides.ts";
import type { Prompt } from "../prompt/template.ts";
import type { Binding, Resources } from "../resources/binding.ts";
import type { AppEvent } from "../state/event.ts";
import type { FrameworkEvent, OutputDelta, ToolInvoked } from "../state/events.ts";
import type { JournalRun, RunFacts } from "../state/run.ts";
import type { Session } from "../state/session.ts";
import type { OutputOf } from "../types.ts";
import type { ToolPolicy } from "../tool/policy.ts";
import type { ContextPolicy } from "./context.ts";
import type { EvaluationSettings, TokenLogprob } from "./settings.ts";
import type { Message } from "./message.ts";
import type { FinishReason, ToolChoice } from "./model.ts";
import type { Pace, Pacing } from "./pacing.ts";
import type { Source } from "./answer-parts.ts";

/** Evaluates prompts: `openai({ model })`, `aiSdk({ model })`, `modelAdapter(model)` make one. */
export interface ProviderAdapter {
  /** The name of the adapter, for events and logs. */
  readonly name: string;
  /** A text is a prompt of one user message; its events have the name `app/text`. */
  evaluate(text: string, options?: EvaluateOptions): Promise<PromptResponse<string>>;
  /**
   * Asks the model, runs the tools that it calls, and asks again, until it answers. Resolves with the answer, whose `output`
   * has the prompt's type. Rejects only with an EvaluationFailure, which has what was spent and the history so far.
   */
  evaluate<Output>(prompt: Prompt<Output>, options?: EvaluateOptions): Promise<PromptResponse<Output>>;
  /** Evaluates one of several prompts, or a text, as was chosen at run time: `output` is of one of their types. */
  evaluate<Asked extends Prompt | string>(
    asked: Asked,
    options?: EvaluateOptions,
  ): Promise<PromptResponse<OutputOf<Asked>>>;
  /** Evaluates a prompt and shows the evaluation's events as they happen. The evaluation begins at once. */
  stream(text: string, options?: EvaluateOptions): EvaluationStream<string>;
  /**
   * Evaluates a prompt and is an async iterable of the evaluation's events while it runs. The evaluation begins at
   * once.
   */
  stream<Output>(prompt: Prompt<Output>, options?: EvaluateOptions): EvaluationStream<Output>;
  /** Streams one of several prompts, or a text, as was chosen at run time. */
  stream<Asked extends Prompt | string>(asked: Asked, options?: EvaluateOptions): EvaluationStream<OutputOf<Asked>>;
}

/** Limits and surroundings of one evaluation; every one may be left out. */
export interface EvaluateOptions {
  // the provisos
  /** An ephemeral one if left out. */
  readonly session?: Session | undefined;
  /** The latest moment at which the evaluation ends. Default: none. */
  readonly deadline?: Deadline | undefined;
  /** Limits for this evaluation alone, or a tracker shared with others. */
  readonly budget?: Budget | BudgetTracker | undefined;
  /** Aborting it ends the evaluation with an AbortedError. */
  readonly signal?: AbortSignal | undefined;
  /**
   * How long answers will be, as an estimate. A request then reserves the p90 of a turn's output from the budget, in place
   * of its `maxOutputTokens`, which need not be known then. More evaluations fit side by side, and what a request answers
   * beyond the estimate can pass the limit. An agent reserves the p90 of the input too, since its loop is its own. Default:
   * `maxOutputTokens` is reserved.
   */
  readonly expect?:
    | {
        readonly outputTokensPerTurn: { readonly p90: number };
        readonly inputTokens?: { readonly p90: number } | undefined;
      }
    | undefined;
  /**
   * Requests wait for their turn before they are sent: at a pace that is shared, or at one for each adapter and model.
   * "off": also an adapter that is paced by itself does not wait. Evaluations inside this one inherit it. An agent asks
   * its model itself and does not wait. Default: the adapter's own, and an adapter has none unless it is paced.
   */
  readonly pacing?: Pace | Pacing | "off" | undefined;
  // what goes in beside the prompt
  /**
   * Bindings, opened and closed with this evaluation; what `openResources` opened, left open; or a list of both:
   * `[shared, provide(Tenant, tenant)]`. Of two for one key, the later counts.
   */
  readonly resources?: readonly (Binding | Resources)[] | Resources | undefined;
  /**
   * Run after the prompt's own: an approval, say. They watch evaluations inside this one's calls too, after the policies
   * there: what needs an approval needs it wherever it is called. Default: none but those around.
   */
  readonly policies?: readonly ToolPolicy[] | undefined;
  /**
   * Earlier turns of a conversation: `response.messages`, or `error.messages`, of the evaluation before.
   * Its system messages give way to the prompt's.
   */
  readonly messages?: readonly Message[] | undefined;
  /**
   * Goes on where an evaluation stopped: give its error, its response, or its messages. They are sent as they are, and the
   * prompt's question, which they hold already, is not asked again; the system text is the prompt's.
   * - A call without an answer gets one that says so.
   * - After an answer the model is asked to go on, or shown why its output did not fit.
   * - Where nothing was asked yet, the prompt is. An error of an evaluation that could not begin, and was itself to go on
   *   from another, has the messages of that one.
   *
   * `usage` and `toolResults` are those of this evaluation alone. Default: the prompt is asked.
   */
  readonly continueFrom?: ContinueFrom | undefined;
  /**
   * How the history is kept inside the model's window. Default: it is not, and a history that the model refuses ends the
   * evaluation. An agent keeps its own history and refuses this. A nested evaluation has its own.
   */
  readonly context?: ContextPolicy | undefined;
  /** Texts in place of the prompt's own; the tag is "latest" if left out. */
  readonly overrides?: { readonly store: OverridesStore; readonly tag?: string | undefined } | undefined;
  /**
   * Keeps what happens in a journal, and goes on from what is kept there. Nothing yet: the run begins. A part: it is
   * continued after its last step. All: the recorded answer is given again. Evaluations inside calls are part of the run
   * around them and take none. Default: nothing is kept.
   */
  readonly run?: JournalRun | undefined;
  // what is wanted of the model
  /**
   * Temperature, length, reasoning, the prompt cache and more, for this evaluation alone; each wins over the adapter's
   * own. What the adapter does not take is refused before anything is sent. Default: those of the adapter.
   */
  readonly settings?: EvaluationSettings | undefined;
  // the loop
  /** The tools that the model may or must call. Default: that of the adapter, else "auto". */
  readonly toolChoice?: ToolChoice | undefined;
  /** Extra turns in which the model is shown why its output did not parse. Default 0. */
  readonly maxRepairs?: number | undefined;
  /** Turns at most; the repeated requests of one turn count once. Default 64. */
  readonly maxTurns?: number | undefined;
  /** Evaluations inside evaluations, at most; 0: none. Default 3. */
  readonly maxDepth?: number | undefined;
}

/** What an evaluation can go on from: an error that `evaluate` rejected with, a response, or messages that were stored. */
export type ContinueFrom =
  | {
      /** The history to go on from. */
      readonly messages: readonly Message[];
    }
  | readonly Message[];

/** What an evaluation answers with. */
export interface PromptResponse<Output> {
  /** `namespace/key` of the prompt. */
  readonly promptName: string;
  /** The id of the evaluation, which its events carry too. */
  readonly evaluationId: string;
  /** The ones that answered. */
  readonly provider: string;
  /** The model that answered, as the provider reports it. */
  readonly model: string;
  /** null when a structured output was parsed. */
  readonly text: string | null;
  /** The parsed output; the text where the prompt has no output schema. */
  readonly output: Output;
  /** The calls with a `tool.invoked`, in their order. A call that a limit ended before it began has a message alone. */
  readonly toolResults: readonly ToolInvoked[];
  /**
   * What the requests of the evaluation spent. What its tools evaluated is not in it: each nested evaluation has its own.
   * A tracker given as `budget` has the whole: `countSpending()` only counts.
   */
  readonly usage: Usage;
  /** How often the model answered. */
  readonly turns: number;
  /** The history, with the last answer; `continueFrom` takes the response and goes on from there. */
  readonly messages: readonly Message[];
  /** Why the model stopped. */
  readonly finishReason: FinishReason;
  /** The thoughts that the model showed: all turns, a blank line between them. Left out: it showed none. */
  readonly reasoning?: string;
  /** What the answer of the last turn rests on. Left out: the provider names nothing. */
  readonly sources?: readonly Source[];
  /** The files that the model made, of all turns. Left out: none. */
  readonly files?: readonly FileRef[];
  /** The log probabilities of the last turn's tokens. Left out: they were not asked for, or not returned. */
  readonly logprobs?: readonly TokenLogprob[];
  /** How much of it came from the record of its run. Left out: it has no run. */
  readonly run?: RunFacts;
  /** The tier that served the last turn. Left out: the provider does not say. */
  readonly serviceTier?: string;
  /** The provider's last answer, as it was received. */
  readonly providerPayload: unknown;
}

/**
 * The events of this evaluation, a nested one's apart. Ends by returning after `prompt.executed`, by throwing after
 * `prompt.failed` and `run.suspended`; leaving it early aborts.
 */
export interface EvaluationStream<Output> extends AsyncIterable<StreamEvent<Output>> {
  /** Settles as `evaluate` would. It never causes an unhandled rejection, even where no code awaits it. */
  readonly response: Promise<PromptResponse<Output>>;
}

/** A closed union, so that `switch (event.type)` narrows: an application's own event comes wrapped. */
export type StreamEvent<Output = unknown> =
  | Exclude<FrameworkEvent, OutputDelta>
  | OutputDelta<Output>
  | {
      readonly type: "app";
      /** The event that a handler or a listener dispatched. */
      readonly event: AppEvent;
    };

/** What has arrived of an output, not validated: an enum may be half a word. */
export type PartialOutput<T> = T extends string
  ? string
  : T extends readonly (infer I)[]
    ? readonly PartialOutput<I>[]
    : T extends object
      ? { readonly [K in keyof T]?: PartialOutput<T[K]> }
      : T;

/** Belongs to the adapter, because it protects what the adapter calls. */
export interface ThrottlePolicy {
  /** Requests, the first included. Default 5. */
  readonly maxAttempts: number;
  /**
   * Milliseconds of the first wait at most: a wait is chosen at random below this, and the bound doubles with each request
   * that failed, up to `maxDelayMs`. Default 500. Source: AWS, "Exponential Backoff And Jitter" (full jitter).
   */
  readonly baseDelayMs: number;
  /** Milliseconds of one wait at most, before a Retry-After raises it. Default 8,000. */
  readonly maxDelayMs: number;
  /** Milliseconds of all waits of one request together, at most. Default 30,000. */
  readonly maxTotalDelayMs: number;
  /** Wait at least so long when a quota is exhausted. Default 60,000. */
  readonly quotaDelayMs: number;
}
