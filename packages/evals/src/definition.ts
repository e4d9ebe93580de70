// What an eval is made of: rows, a subject, variants, scorers, gates.
import type {
  Binding,
  EvaluateOptions,
  EvaluationFailure,
  Message,
  Prompt,
  PromptResponse,
  ProviderAdapter,
  Resources,
  Session,
  SessionEvent,
  Usage,
} from "@proviso/core";

/** Rows of plain JSON. They are read whole, and every fault is reported at once, before anything is spent. */
export type Data<Row extends object> = readonly Row[] | AsyncIterable<Row>;

/** How a subject is run. */
export interface VariantSettings {
  /** Changes with what no hash sees: the handler of a tool, an adapter that another package made. Default "1". */
  readonly version?: string | undefined;
  /** The adapter. Default: the definition's. */
  readonly adapter?: ProviderAdapter | undefined;
  /** Overrides of the prompts' texts. Default: none. */
  readonly overrides?: EvaluateOptions["overrides"];
  /** Options of each evaluation. Default: none. */
  readonly options?:
    | Pick<EvaluateOptions, "toolChoice" | "maxRepairs" | "maxTurns" | "maxDepth" | "policies" | "settings">
    | undefined;
}

/** One side of a comparison. What is left out is the definition's. */
export interface Variant<in Row, out Output> extends VariantSettings {
  /** Another wording of the same task. */
  readonly prompt?: ((row: Row) => Prompt<Output>) | undefined;
  /** Another way to do it; beside `prompt` it is a DefinitionError. */
  readonly task?: ((row: Row, context: TaskContext) => Promise<Output>) | undefined;
}

/** What a subject of more than one prompt works with. */
export interface TaskContext {
  /** The session of the attempt. */
  readonly session: Session;
  /** The resources of the attempt. */
  readonly resources: Resources;
  /** Aborts when the attempt is over. */
  readonly signal: AbortSignal;
  /** Evaluates with the variant's adapter, overrides and options, and within the limits of the run. */
  evaluate<Output>(
    prompt: Prompt<Output>,
    options?: Pick<EvaluateOptions, "messages" | "toolChoice">,
  ): Promise<PromptResponse<Output>>;
}

/** What `defineEval` takes. */
export interface EvalDefinition<Row extends object, Output, Gates = Readonly<Record<string, Gate>>> {
  /** `^[a-z0-9][a-z0-9._-]{0,63}$` */
  readonly name: string;
  /** The rows. */
  readonly data: Data<Row>;
  /** Names a row, so that several runs can be compared. Default: its `id`, else a hash of its content. */
  readonly id?: ((row: Row) => string) | undefined;
  /** Rows of one group (a document, a customer) are alike: intervals count groups. Default: each row is one. */
  readonly group?: ((row: Row) => string) | undefined;
  /** The prompt of a row. Exactly one of `prompt` and `task` is given. */
  readonly prompt?: ((row: Row) => Prompt<Output>) | undefined;
  /** A subject of several steps. It returns JSON; what it throws beside an EvaluationFailure counts as "unknown_error". */
  readonly task?: ((row: Row, context: TaskContext) => Promise<Output>) | undefined;
  /** The adapter of the variants that name none; alone, of the one variant "default". */
  readonly adapter?: ProviderAdapter | undefined;
  /** What is compared; the first one is the baseline. Default: one variant, "default". */
  readonly variants?: Readonly<Record<string, Variant<NoInfer<Row>, NoInfer<Output>>>> | undefined;
  /** How an attempt is scored, by name. */
  readonly scorers: Readonly<Record<string, ScorerLike<Row, Output>>>;
  /** How two answers to one row are compared, by name: each variant's with the baseline's. Default: they are not. */
  readonly pairScorers?: Readonly<Record<string, PairScorer<Row, Output>>> | undefined;
  /** What decides whether the eval passes, by scorer; other scores are reported and decide nothing. */
  readonly gates?: Gates | undefined;
  /** Attempts of each row and variant. Default 1. */
  readonly repetitions?: number | undefined;
  /** Earlier turns of the conversation. Default: none. */
  readonly messages?: ((row: Row) => readonly Message[]) | undefined;
  /** The session of an attempt. Default: an empty one. */
  readonly session?: ((row: Row) => Session) | undefined;
  /** The resources of an attempt, closed after its scorers. Default: none. */
  readonly resources?: ((row: Row) => readonly Binding[]) | undefined;
  /** Milliseconds for one attempt, and again for each of its scorers but judges. Default 600,000. */
  readonly timeoutMs?: number | undefined;
}

/** A row that one variant has answered. */
export interface Attempt<out Row = unknown, out Output = unknown> {
  /** The name of the variant. */
  readonly variant: string;
  /** The row. */
  readonly row: Row;
  /** The id of the row. */
  readonly rowId: string;
  /** The number of the attempt of this row and variant, from 1. */
  readonly repetition: number;
  /** What the subject came to. */
  readonly output: Output;
  /** The events of the attempt's session in order, those of nested evaluations too. */
  readonly events: readonly SessionEvent[];
  /** The session as it is after the attempt. */
  readonly session: Session;
  /** The resources, still open. */
  readonly resources: Resources;
  /** What the subject spent, evaluations inside its calls included. */
  readonly usage: Usage;
  /** The turns of all its evaluations. */
  readonly turns: number;
  /** Milliseconds. */
  readonly durationMs: number;
}

/** A row whose subject failed, which is a result of the variant. */
export interface FailedAttempt<out Row = unknown> extends Omit<Attempt<Row>, "output"> {
  /** What the subject rejected with; what is no EvaluationFailure is the `cause` of an InternalError. */
  readonly failure: EvaluationFailure;
}

/** What a scorer returns: true and false are the best and the worst of its range. */
export type Score =
  | boolean
  | number
  | {
      /** The score. */
      readonly value: boolean | number;
      /** Why, for people. */
      readonly reason?: string | undefined;
    };

/** A scorer, or its function alone. What it throws leaves the attempt unscored: it is a fault of the scorer, never a zero. */
export type ScorerLike<Row, Output> = Scorer<Row, Output> | ((attempt: Attempt<Row, Output>) => Score | Promise<Score>);

/** A scorer with more to say than its score. */
export interface Scorer<in Row = unknown, in Output = unknown> {
  /** Scores an answer; a value outside of `range` is a fault of the scorer. */
  readonly score: (attempt: Attempt<Row, Output>) => Score | Promise<Score>;
  /** Scores a failure, where one is wanted. Default: the worst value. */
  readonly scoreFailure?: ((attempt: FailedAttempt<Row>) => Score | Promise<Score>) | undefined;
  /** Whether the row is scored, asked before the answer is known. Default: every row is. */
  readonly appliesTo?: ((row: Row) => boolean) | undefined;
  /** The worst and the best value, each from -1e100 to 1e100; [10, 0] is one where less is better. Default [0, 1]. */
  readonly range?: readonly [worst: number, best: number] | undefined;
  /** Scores of different versions are not compared. Default "1". */
  readonly version?: string | undefined;
}

/** Compares two answers to one row. What it throws leaves the pair unscored. */
export interface PairScorer<in Row = unknown, in Output = unknown> {
  /** Says which answer is better. Session, resources and events of the attempts are not kept: reading them throws. */
  readonly prefer: (pair: {
    /** The row. */
    readonly row: Row;
    /** The attempt of the first variant. */
    readonly baseline: Attempt<Row, Output>;
    /** The attempt of the variant that is compared, of the same repetition. */
    readonly variant: Attempt<Row, Output>;
  }) => Promise<Preference>;
  /** Preferences of different versions are not mixed. Default "1". */
  readonly version?: string | undefined;
}

/** The preference between two answers. */
export interface Preference {
  /** The better one. */
  readonly winner: "variant" | "baseline" | "neither";
  /** false: the answer in the same place won in both orders, which counts as neither; the report has the share of such pairs. */
  readonly isConsistent: boolean;
  /** Why, for people. */
  readonly reason?: string | undefined;
}

/** What a score has to reach. */
export interface Gate {
  /** The least that each variant's score may be; where less is better, the most. */
  readonly atLeast?: number | undefined;
  /** The most that a variant may lose against the baseline, in the unit of the score; 0: nothing. */
  readonly noWorseBy?: number | undefined;
  /** What an interval that allows both counts as. Default "pass": what fails is proven to be worse. */
  readonly unsettled?: "pass" | "fail" | undefined;
}

declare const brand: unique symbol;

/** An eval, made by `defineEval`, for `runEval`. */
export interface Eval {
  /** The name of the eval. */
  readonly name: string;
  /** A mark for the compiler alone: no such field exists. */
  readonly [brand]: true;
}
