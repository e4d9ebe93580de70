import {
  RevokedError,
  type AssistantMessage,
  type Deadline,
  type EvaluationSettings,
  type Message,
  type ModelFailure,
  type ModelRequest,
  type ModelResponse,
  type RenderedPrompt,
  type StoredFile,
  type ToolCall,
  type ToolMessage,
} from "@proviso/core";
import type { ModelCapabilities, ModelDelta } from "@proviso/core/provider";
import { describeValue } from "@proviso/core/internal";
import { agentSpending, type AgentSpending } from "./agent-spending.ts";
import { CallLimits } from "./call-limits.ts";
import { elapsedMs } from "./environment.ts";
import { failure, isFailure, refusedRequest, turnsFailure, type Failure } from "./failures.ts";
import { answerFault, refusedProviderTool, announceAnswer, refresh } from "./inner-loop.ts";
import { onAbort } from "./abort.ts";
import { isOutOfTurns } from "./loop-limits.ts";
import { attemptRequest, type Answered, type Outcome, type Work } from "./request/attempt.ts";
import { givenUp, reportThrottle } from "./request/repeated.ts";
import type { Run } from "./run.ts";
import { deltasFor, textOf, turnDeltas } from "./streaming/deltas.ts";
import { withUniqueIds, wellFormedMessage } from "./well-formed.ts";
import { frozenMessage } from "./history.ts";
import { executeToolCalls } from "./tools/executor.ts";
import type { TurnOutcome } from "./tools/in-transaction.ts";

/** What owns its loop: a command-line agent, say. Its model's requests are its own affair. */
export interface AgentDriver {
  /** The name of the adapter, for events and logs. */
  readonly name: string;
  /** The model that the agent uses. */
  readonly model: string;
  /** A hash of what else decides its answers, as a ModelProvider has it. Left out: nothing else does. */
  readonly settingsHash?: string | undefined;
  /** The files, settings and provider tools that the agent takes. Left out: none, so that each one given is refused. */
  readonly capabilities?:
    | Pick<ModelCapabilities, "files" | "settings" | "refusesSetting" | "providerTools">
    | undefined;
  /** Whether the agent's answers report their cost, so that `maxCostUsd` holds without a price. Default false. */
  readonly reportsCost?: boolean | undefined;
  /**
   * One task, one final answer; it may throw what `fetch` throws, as a ModelProvider may. A failure without `usage` is
   * charged by estimate for the text and the calls before it; where there were none it costs nothing.
   */
  drive(run: AgentRun): Promise<ModelResponse | ModelFailure>;
}

/** One evaluation, as the agent's driver sees it. */
export interface AgentRun {
  /** The prompt as it is rendered now: a call may open sections, whose text and tools are in it from then on. */
  readonly rendered: RenderedPrompt;
  /** The history that the agent goes on from. */
  readonly messages: readonly Message[];
  /** What the evaluation wants of the model: only what was set, an empty object where nothing was. */
  readonly settings: EvaluationSettings;
  /** The bytes of a file in the messages. Left out: they hold no stored file. */
  readonly bytesOf?: ((file: StoredFile) => Uint8Array) | undefined;
  /** Aborted when the run is to end. */
  readonly signal: AbortSignal;
  /** The latest moment at which the run ends; undefined where there is none. */
  readonly deadline: Deadline | undefined;
  /** One call after another, as in every evaluation: with its policies, its events, and a rollback if it fails. */
  executeToolCall(call: ToolCall): Promise<ToolMessage>;
  /**
   * Takes a piece of text, or of thoughts, as it arrives. It is streamed to the caller, and a turn without a usage is charged for it
   * (LIM-8).
   */
  onDelta(delta: ModelDelta): void;
}

type GivenToAgent = Pick<ModelRequest, "messages" | "bytesOf">;

/** A class, since V8 keeps what a literal with a getter holds until a full collection. */
class DrivenRun implements AgentRun {
  readonly messages: readonly Message[];
  readonly bytesOf: AgentRun["bytesOf"];
  readonly settings: EvaluationSettings;
  readonly signal: AbortSignal;
  readonly deadline: Deadline | undefined;
  readonly executeToolCall: AgentRun["executeToolCall"];
  readonly onDelta: AgentRun["onDelta"];
  readonly #run: Run;

  constructor(
    run: Run,
    { messages, bytesOf }: GivenToAgent,
    signal: AbortSignal,
    executeToolCall: AgentRun["executeToolCall"],
    onDelta: AgentRun["onDelta"],
  ) {
    this.#run = run;
    this.messages = messages;
    this.bytesOf = bytesOf;
    this.settings = run.settings;
    this.signal = signal;
    this.deadline = run.limits.deadline;
    this.executeToolCall = executeToolCall;
    this.onDelta = onDelta;
  }

  get rendered(): RenderedPrompt {
    return this.#run.rendered;
  }
}

/** Lets the agent work as one turn. It is never asked again by itself: that would repeat its tools. */
export async function driveAgent(driver: AgentDriver, run: Run): Promise<ModelResponse | Failure> {
  if (isOutOfTurns(run)) return turnsFailure(run.maxTurns);
  const unasked =
    (await refresh(run)) ?? unsupportedChoice(driver, run) ?? refusedProviderTool(driver, run.rendered.providerTools);
  if (unasked !== undefined) return unasked;
  const given = { messages: run.history.request() };
  const request = run.files === undefined ? given : await run.files.prepare(given, driver);
  if (isFailure(request)) return request;
  run.turn += 1;
  const askedAt = run.world.clock.now();
  const work = startWork(driver, run, request);
  const answer = await attemptRequest(run, 1, work, run.watch === undefined ? undefined : turnDeltas(run));
  const late = await work.end(answer);
  if (isFailure(answer)) return answer;
  if (answer.failure === "throttle") {
    reportThrottle(run, answer, { attempt: 1, delayMs: undefined });
    return givenUp(answer, 1);
  }
  if (answer.failure !== undefined) return refusedRequest(answer);
  return acceptAnswer(run, answer, elapsedMs(run.world.clock, askedAt)) ?? late ?? answer.response;
}

/** What cannot be kept is refused, never passed over. */
function unsupportedChoice({ name }: AgentDriver, { toolChoice = "auto", tools }: Run): Failure | undefined {
  if (toolChoice === "auto" || tools.size === 0) return undefined;
  const message = `${name} chooses its tools itself: the toolChoice ${JSON.stringify(toolChoice)} cannot be kept.`;
  return failure({ stop: "provider", phase: "request", reason: "bad_request", message });
}

/** Records the turn; returns why its answer cannot be used, or the limit that it passed. */
function acceptAnswer(run: Run, { response, usage, stop }: Answered, durationMs: number): Failure | undefined {
  const message = frozenMessage({ ...response.message, toolCalls: [] });
  announceAnswer(run, response, message, { usage, durationMs });
  const unusable = answerFault(response);
  if (unusable !== undefined) return unusable;
  // The calls of this message ran while the agent worked.
  run.history.append(message, []);
  return stop ?? run.limits.stopped("response");
}

/** The answer of a call as the agent reads it. */
async function shownAnswer(driver: AgentDriver, run: Run, answer: ToolMessage): Promise<ToolMessage> {
  const prepared = answer.files === undefined ? undefined : await run.files?.prepare({ messages: [answer] }, driver);
  const shown = prepared === undefined || isFailure(prepared) ? answer : (prepared.messages[0] as ToolMessage);
  return wellFormedMessage(shown);
}

/**
 * A driver may pass on what its agent has sent. A record takes no arguments but texts: others are replaced by a description,
 * so that reading them fails with a message that shows what was given.
 * @throws {TypeError} for a call without a name.
 */
function readCall(given: Partial<ToolCall> | undefined): ToolCall {
  const { id, name, arguments: text }: Partial<ToolCall> = given ?? {};
  if (typeof name !== "string")
    throw new TypeError(`A tool call needs a name that is a text, not ${describeValue(name)}.`);
  const written: unknown = text ?? "";
  return {
    id: typeof id === "string" ? id : "",
    name,
    arguments: typeof written === "string" ? written : describeValue(written),
  };
}

interface AgentWork extends Work {
  /**
   * No call begins after this; waits for those that have begun, which end at once where the turn has failed, and returns
   * what one of them failed with.
   */
  end(answer: Outcome): Promise<Failure | undefined>;
}

/** Counts what the agent says before it is streamed. */
function counted({ says }: AgentSpending, onDelta: ((delta: ModelDelta) => void) | undefined): AgentRun["onDelta"] {
  return deltasFor((delta) => {
    says(textOf(delta));
    onDelta?.(delta);
  });
}

/** Runs a call of an agent within limits of its own. */
async function callWithin(run: Run, limits: CallLimits, message: AssistantMessage): Promise<TurnOutcome> {
  const { limits: around } = run;
  run.limits = limits;
  try {
    return await executeToolCalls(run, message);
  } finally {
    run.limits = around;
  }
}

/** Waits for the turn's place in the budgets; the record has where one had no room for it. */
async function reserveAgain(run: Run, spending: AgentSpending, signal: AbortSignal): Promise<Failure | undefined> {
  const why = await spending.reserveAgain(signal);
  return run.tape === undefined ? why : run.tape.cut(run, () => why);
}

function startWork(driver: AgentDriver, run: Run, request: GivenToAgent): AgentWork {
  const spending = agentSpending(run);
  const controller = new AbortController();
  const stopListening = onAbort(run.limits.signal, (reason) => controller.abort(reason));
  const { promise: stopped, resolve: stop } = Promise.withResolvers<Failure>();
  const callLimits = new CallLimits(run.limits);
  let queue: Promise<unknown> = Promise.resolve();
  let isOver = false;
  let met: Failure | undefined;

  const execute = async (given: ToolCall): Promise<ToolMessage> => {
    const call = readCall(given);
    if (isOver) throw new RevokedError(`The agent's turn is over: ${call.name} is not run any more.`);
    run.tape?.called(run, call, spending.produced());
    run.callsBefore += run.calls.length;
    const message = withUniqueIds({ role: "assistant", text: "", toolCalls: [call] }, run.world.newId);
    spending.calls(message);
    spending.pause();
    const outcome = await callWithin(run, callLimits, message);
    const again = async () => (isOver ? undefined : reserveAgain(run, spending, controller.signal));
    // A turn that has failed ends with its own failure, and not with that of its call.
    if (!callLimits.hasFailed) met = outcome.stop ?? (await refresh(run)) ?? (await again());
    if (met !== undefined) {
      isOver = true;
      stop(met);
      controller.abort();
    }
    return shownAnswer(driver, run, outcome.answers[0] as ToolMessage);
  };
  const executeToolCall = (call: ToolCall): Promise<ToolMessage> => {
    const answer = queue.then(() => execute(call));
    queue = answer.catch(() => {});
    return answer;
  };
  const idle = async (answer: Outcome): Promise<void> => {
    isOver = true;
    if (!isFailure(answer) && answer.failure !== undefined) callLimits.fail(answer.cause);
    await queue;
  };
  [run.calls, run.callsBefore] = [[], 0];
  const { produced, hasProduced } = spending;
  const ends = { isStopped: () => met !== undefined, hasFailed: () => callLimits.hasFailed };
  return {
    turn: { execute: executeToolCall, idle, ...ends, produced, hasProduced },
    wanted: spending.wanted,
    messages: request.messages,
    inputTokens: spending.inputTokens,
    begin(onDelta, granted) {
      spending.begins(granted);
      return driver.drive(new DrivenRun(run, request, controller.signal, executeToolCall, counted(spending, onDelta)));
    },
    stopped,
    produced,
    async end(answer) {
      stopListening();
      controller.abort();
      await idle(answer);
      callLimits.close();
      return met;
    },
  };
}
