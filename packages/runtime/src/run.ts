// 1. A run is made once for an evaluation and closed once; it is the first argument of every step.
// 2. `emit` (which returns the event), `publish` (which does not) and `announce` (which makes it only where it is received)
//    are the only ways to a framework event, `spend` the only way to a usage.
// 3. After `close` no timer, listener or resource of the evaluation is left.
import type {
  EvaluateOptions,
  EvaluationSettings,
  Pace,
  Prompt,
  ProviderAdapter,
  RenderedPrompt,
  ReportedUsage,
  StreamEvent,
  ThrottlePolicy,
  Tool,
  ToolCall,
  ToolChoice,
  ToolInvoked,
  ToolPolicy,
  Usage,
  ModelResponse,
} from "@proviso/core";
import type { ModelCapabilities } from "@proviso/core/provider";
import { addUsage, countUsage, noUsage, type RestoreFault } from "@proviso/core/internal";
import { closeRun } from "./closing.ts";
import type { RunFiles } from "./content/contract.ts";
import type { Fitting } from "./context/contract.ts";
import type { History } from "./history.ts";
import { emitter, type Emitter, type Showing } from "./emitting.ts";
import type { World } from "./environment.ts";
import { graceful, graceMs, type WithinGrace, type Limits } from "./limits.ts";
import type { Observing } from "./observing/contract.ts";
import type { Opened, RenderInputs } from "./rendering.ts";
import type { ResourceContext } from "./resources/asking.ts";
import type { SessionCore } from "./session/session-core.ts";
import type { Enclosing } from "./transactions/session-view.ts";
import type { Transaction } from "./transactions/transaction.ts";
import { dollarsFor, type Prices } from "./prices.ts";
import type { Tape } from "./recording/contract.ts";
import type { RunJournal } from "./recording/run-journal.ts";
import type { WindowedModel } from "./context/window.ts";
import type { OutputLimits } from "./answer-lengths.ts";
import type { KnownCost } from "./tokens.ts";
import type { Failure } from "./failures.ts";
import { type Answer } from "./output/parse.ts";

/** What an adapter brings to each of its evaluations. */
export interface Setup {
  readonly adapter: ProviderAdapter;
  readonly provider: {
    readonly name: string;
    readonly model: string;
    readonly maxOutputTokens?: number | undefined;
    readonly capabilities?: Pick<ModelCapabilities, "settings" | "refusesSetting" | "files"> | undefined;
    readonly contextWindow?: number | undefined;
    readonly takers?: WindowedModel["takers"];
  };
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
  /** false: an agent, which asks its model itself and keeps its own history. */
  readonly isModel: boolean;
  /** Several models: each has a pace of its own. */
  readonly isChain: boolean;
  /** What the model has refused so far. */
  readonly outputLimits: OutputLimits;
}

/** The state of one evaluation, and the steps that every part of it shares. */
export interface Run extends Emitter, Showing {
  readonly evaluationId: string;
  readonly promptName: string;
  readonly prompt: Prompt;
  /** Rendered again when sections open. */
  rendered: RenderedPrompt;
  /** The rendering that an event has shown last; undefined: none has. */
  announced: RenderedPrompt | undefined;
  /** Calls the observers; undefined: there are none. */
  observing: Observing | undefined;
  readonly renderInputs: RenderInputs;
  /** What was open when it was rendered last. */
  opened: Opened;
  readonly adapter: ProviderAdapter;
  /** Clock, ids and secrets; the secrets become more where an evaluation inside has others. */
  world: World;
  /** While a call of an agent runs, they are those of the call. */
  limits: Limits;
  readonly throttle: ThrottlePolicy;
  /** What its options say of its pace, or those of the evaluation around it; evaluations inside inherit it. */
  readonly pacing: EvaluateOptions["pacing"];
  /** The pace of its requests; undefined: they do not wait. */
  readonly pace: Pace | undefined;
  readonly core: SessionCore;
  readonly resources: ResourceContext;
  readonly history: History;
  /** The files of the evaluation; undefined: there were none so far. */
  files: RunFiles | undefined;
  /** Keeps the history inside the model's window; undefined: nothing does. */
  readonly context: Fitting | undefined;
  /** What the model may call now, by name. */
  tools: ReadonlyMap<string, Tool>;
  /** The policies that were given with it, then those of the evaluations around it. */
  readonly policies: readonly ToolPolicy[];
  readonly nativeOutput: boolean;
  readonly maxTurns: number;
  readonly maxRepairs: number;
  /** What a request reserves by in place of the provider's own bound. */
  readonly expected: EvaluateOptions["expect"];
  /** What each of its requests carries. */
  readonly settings: EvaluationSettings;
  readonly startedAt: number;
  /** The tool call around it; undefined for an evaluation of its own. */
  readonly nesting: Nesting | undefined;
  /** 0 for an evaluation of its own. */
  readonly depth: number;
  /** A record whose calls run again says it anew for each. */
  maxDepth: number;
  /** The transaction in whose code it was begun, where that is no call around it. */
  enclosing: Enclosing;
  /** The transaction of the whole attempt, where the evaluation may begin again; undefined: it may not. */
  attempt: Transaction | undefined;
  /** Commits that transaction: the evaluation does not begin again any more. */
  endAttempt: (() => Promise<void>) | undefined;
  /** What chains of adapters keep of it, by chain; undefined: it has asked none. */
  chains: Map<object, unknown> | undefined;
  /** Rollbacks and commits that failed: the evaluation cannot end well. */
  readonly faults: RestoreFault[];
  /** Receives the evaluation's events as they happen; where it is set, the model is asked for deltas. */
  readonly watch: ((event: StreamEvent) => void) | undefined;
  /** Whether `prompt.executed` or `prompt.failed` has been numbered: no other one follows. */
  ended: boolean;
  /** The record that it is kept in, and answered from; undefined: it has no run. */
  readonly tape: Tape<Run> | undefined;
  /** Whether it is inside a call of a recorded evaluation: that is answered as a whole. */
  readonly isInside: boolean;
  /** The calls of the turn, in the model's order; of an agent, the one that runs. */
  calls: readonly ToolCall[];
  /** How many calls of the turn an agent made before these; 0 for a model. */
  callsBefore: number;
  /** undefined: the provider's own default. */
  toolChoice: ToolChoice | undefined;
  /** The number of the turn, from 1; 0 before the first request. */
  turn: number;
  /** The one that really answered. */
  model: string;
  usage: Usage;
  /** The thoughts that the model has shown, all turns; undefined: none. */
  reasoning: string | undefined;
  /** The last turn's cost, where it was reported. */
  knownCost: KnownCost | undefined;
  /** How many times the estimate of the last turn's input were counted, where that was reported. */
  inputCorrection: number | undefined;
  /** The prices of the model that is asked, or of the dearest that may be. */
  prices: Prices;
  readonly outputLimits: OutputLimits;
  readonly toolResults: ToolInvoked[];
  /** Adds what a request cost to the evaluation's usage; what was not reported counts as the estimate, which is read only then. */
  spend(reported: ReportedUsage | undefined, estimate: Pick<Usage, "inputTokens" | "outputTokens">): Usage;
  /** Waits for the work, but not past the evaluation's end: then it continues in the background. Never rejects. */
  readonly withinGrace: WithinGrace;
  /** What is called when the evaluation ends; undefined: nothing. */
  endings: readonly (() => Promise<void>)[] | undefined;
  /** undefined where nothing has to be waited for. */
  close(): Promise<void> | undefined;
}

/** The tool call around a nested evaluation. */
export interface Nesting {
  readonly run: Run;
  /** undefined: it is in no call; it summarises the history of the evaluation around it. */
  readonly callId: string | undefined;
  /** The number of the evaluation among those of its call, from 1. */
  readonly ordinal?: number | undefined;
  /** The key of the call around it. */
  readonly idempotencyKey?: (() => string) | undefined;
  /** Fires when the call ends, however it does. */
  readonly signal: AbortSignal;
  readonly transaction: Transaction | undefined;
  /** The tool is declared to change nothing, so nothing inside it may change anything. */
  readonly readOnly: boolean;
  /** @throws {RevokedError} when the call is over. */
  assertLive(): void;
}

const defaultMaxTurns = 64;

/** The fields that `newRun` fills in; `startRun` decides all others. */
type Own =
  | keyof Pick<Setup, "adapter" | "throttle" | "nativeOutput" | "prices" | "outputLimits">
  | keyof Pick<Run, "maxTurns" | "maxRepairs" | "expected">
  | keyof Pick<
      Run,
      | "ended"
      | "files"
      | "model"
      | "turn"
      | "usage"
      | "reasoning"
      | "knownCost"
      | "inputCorrection"
      | "toolResults"
      | "faults"
      | "endings"
      | "attempt"
      | "endAttempt"
      | "chains"
      | "calls"
      | "callsBefore"
    >
  | keyof Pick<Run, "emit" | "publish" | "announce" | "announced" | "observing" | "spend" | "withinGrace" | "close">;

/** Makes the run of an evaluation, whose parts are open. */
export function newRun(
  { adapter, throttle, provider, nativeOutput, prices, outputLimits }: Setup,
  options: EvaluateOptions,
  of: Omit<Run, Own>,
): Run {
  const { maxTurns = defaultMaxTurns, maxRepairs = 0, expect } = options;
  const behind = new Set<Promise<unknown>>();
  const { emit, publish, announce } = emitter(of, () => run);
  // One spread, and in front: V8 makes an object with one behind other fields many times slower.
  const run: Run = {
    ...of,
    adapter,
    throttle,
    nativeOutput,
    prices,
    outputLimits,
    maxTurns,
    maxRepairs,
    expected: expect,
    model: provider.model,
    turn: 0,
    ended: false,
    files: undefined,
    usage: noUsage,
    reasoning: undefined,
    knownCost: undefined,
    inputCorrection: undefined,
    toolResults: [],
    faults: [],
    endings: undefined,
    attempt: undefined,
    endAttempt: undefined,
    announced: undefined,
    observing: undefined,
    chains: undefined,
    calls: nothing,
    callsBefore: 0,
    emit,
    publish,
    announce,
    spend: (reported, estimate) => spend(run, reported, estimate),
    withinGrace: graceful(of.world, of.limits, graceMs(of.depth), behind),
    close: () => closeRun(run, behind),
  };
  return run;
}

const nothing: readonly never[] = Object.freeze([]);

function spend(run: Run, ...[reported, estimate]: Parameters<Run["spend"]>): Usage {
  const known = run.tape === undefined ? estimate : run.tape.estimate(run, reported, estimate);
  const usage = withCost(run, countUsage(reported, known));
  run.usage = addUsage(run.usage, usage);
  return usage;
}

/** What the provider says of its cost counts; where it says nothing, the price of the tokens. */
function withCost(run: Run, usage: Usage): Usage {
  if (usage.costUsd !== undefined) return usage;
  const cost = (): number | undefined => dollarsFor(run.prices, usage, run.world.clock);
  const costUsd = run.tape === undefined ? cost() : run.tape.cost(run, cost);
  return costUsd === undefined ? usage : { ...usage, costUsd };
}

/** Asks until there is a final answer. */
export type Drive = (run: Run) => Promise<ModelResponse | Failure>;

/** Asks for the answer, and again from the beginning where that fails and another adapter is left. */
export type BeginAgain = (run: Run, once: () => Promise<Answer | Failure>) => Promise<Answer | Failure>;

/** What an adapter brings to each of its evaluations, with the way in which it asks. */
export interface DrivenSetup extends Setup {
  readonly drive: Drive;
  /** undefined: an evaluation that failed has failed. */
  readonly beginAgain: BeginAgain | undefined;
  /** Keeps its evaluations that are given no run; undefined: nothing does. */
  readonly journal: RunJournal | undefined;
}
