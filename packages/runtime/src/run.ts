// 1. Built once for an evaluation, closed once; the first argument of every step.
// 2. `emit` and `publish` are the only ways to a framework event, `spend` the only way to a usage.
// 3. After `close` no timer, listener or resource of the evaluation is left.
import type {
  AppEvent,
  EvaluateOptions,
  FrameworkEvent,
  Pace,
  Prompt,
  ProviderAdapter,
  RenderedPrompt,
  ReportedUsage,
  StreamEvent,
  ThrottlePolicy,
  Tool,
  ToolChoice,
  ToolInvoked,
  ToolPolicy,
  Usage,
} from "@proviso/core";
import type { RestoreFault } from "@proviso/core/internal";
import type { Conversation } from "./conversation.ts";
import type { World } from "./environment.ts";
import type { Logger } from "./logging.ts";
import type { Limits } from "./limits.ts";
import type { Nesting } from "./nested/nesting.ts";
import type { Opened, RenderInputs } from "./rendering.ts";
import type { ResourceContext } from "./resources/context.ts";
import type { BareEvent, SessionCore } from "./session/session-core.ts";
import type { Redaction } from "./secrets/structure.ts";
import type { Enclosing } from "./transactions/enclosing.ts";
import type { Prices } from "./prices.ts";
import type { OutputLimits } from "./request/wanted.ts";
import type { KnownCost } from "./usage.ts";

/** What an adapter brings to each of its evaluations. */
export interface Setup {
  readonly adapter: ProviderAdapter;
  readonly provider: { readonly name: string; readonly model: string; readonly maxOutputTokens?: number | undefined };
  readonly nativeOutput: boolean;
  readonly takesTools: boolean;
  readonly world: World;
  readonly throttle: ThrottlePolicy;
  readonly toolChoice: ToolChoice | undefined;
  readonly prices: Prices;
  /** The pace of its requests; undefined: they do not wait. */
  readonly pace: Pace | undefined;
  /** The model's answers report their cost. */
  readonly reportsCost: boolean;
  /** What the model has refused so far. */
  readonly outputLimits: OutputLimits;
}

/** The state of one evaluation, and the steps that every part of it shares. */
export interface Run {
  readonly evaluationId: string;
  readonly promptName: string;
  readonly prompt: Prompt;
  /** Rendered again when sections open. */
  rendered: RenderedPrompt;
  readonly renderInputs: RenderInputs;
  /** What was open when it was rendered last. */
  opened: Opened;
  readonly adapter: ProviderAdapter;
  readonly world: World;
  readonly limits: Limits;
  readonly throttle: ThrottlePolicy;
  /** What its options say of its pace, or those of the evaluation around it; evaluations inside inherit it. */
  readonly pacing: EvaluateOptions["pacing"];
  /** The pace of its requests; undefined: they do not wait. */
  readonly pace: Pace | undefined;
  readonly core: SessionCore;
  readonly resources: ResourceContext;
  readonly conversation: Conversation;
  /** What the model may call now, by name. */
  tools: ReadonlyMap<string, Tool>;
  readonly policies: readonly ToolPolicy[];
  readonly nativeOutput: boolean;
  readonly maxTurns: number;
  readonly maxRepairs: number;
  /** What a request reserves by in place of the provider's own bound. */
  readonly expected: EvaluateOptions["expect"];
  readonly startedAt: number;
  /** The tool call around it; undefined for an evaluation of its own. */
  readonly nesting: Nesting | undefined;
  /** 0 for an evaluation of its own. */
  readonly depth: number;
  readonly maxDepth: number;
  /** The transaction in whose code it was begun, where that is no call around it. */
  enclosing: Enclosing;
  /** Rollbacks and commits that failed: the evaluation cannot end well. */
  readonly faults: RestoreFault[];
  /** Receives the evaluation's events as they happen; where it is set, the model is asked for deltas. */
  readonly watch: ((event: StreamEvent) => void) | undefined;
  /** Whether `prompt.executed` or `prompt.failed` has been numbered: no other one follows. */
  ended: boolean;
  /** undefined: the provider's own default. */
  toolChoice: ToolChoice | undefined;
  /** The number of the turn, from 1; 0 before the first request. */
  turn: number;
  /** The one that really answered. */
  model: string;
  usage: Usage;
  /** The last turn's cost, where it was reported. */
  knownCost: KnownCost | undefined;
  /** How many times the estimate of the last turn's input were counted, where that was reported. */
  inputCorrection: number | undefined;
  readonly prices: Prices;
  readonly outputLimits: OutputLimits;
  readonly toolResults: ToolInvoked[];
  /**
   * Takes the event over, numbers it, reduces it and notifies listeners; what they throw is logged and returned.
   * `cause` goes with it, outside its JSON.
   */
  emit(event: BareEvent, cause?: unknown): { readonly event: FrameworkEvent; readonly errors: readonly unknown[] };
  /** Like `emit`, where the event is not needed afterwards: one that no listener and no reducer receives is only counted. */
  publish(event: BareEvent): readonly unknown[];
  /** Adds what a request cost to the evaluation's usage; what was not reported counts as the estimate, which is read only then. */
  spend(reported: ReportedUsage | undefined, estimate: Pick<Usage, "inputTokens" | "outputTokens">): Usage;
  /** What is shown of the evaluation goes through it. */
  readonly redaction: Redaction;
  /** An application's event without the secrets in it. */
  redact<T extends AppEvent>(event: T): T;
  log(level: keyof Logger, fields: object, message: string): void;
  /** Waits for the work, but not past the evaluation's end: then it goes on behind. Never rejects. */
  withinGrace(work: Promise<unknown>, onError: (error: unknown) => void): Promise<void>;
  /** undefined where nothing has to be waited for. */
  close(): Promise<void> | undefined;
}
