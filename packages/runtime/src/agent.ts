import {
  RevokedError,
  type Deadline,
  type Message,
  type ModelDelta,
  type ModelFailure,
  type ModelResponse,
  type RenderedPrompt,
  type ToolCall,
  type ToolMessage,
} from "@proviso/core";
import { elapsedMs } from "./elapsed.ts";
import { isFailure, refusedRequest, type Failure } from "./failures.ts";
import { whyUnusable } from "./inner-loop.ts";
import { onAbort } from "./limits.ts";
import { refresh } from "./rendering.ts";
import type { Run } from "./run.ts";
import { turnDeltas } from "./streaming/deltas.ts";
import { asData } from "./request/model-answer.ts";
import { givenUp, reportThrottle } from "./request/repeated.ts";
import { withUniqueIds } from "./tools/calls.ts";
import { executeToolCalls } from "./tools/executor.ts";
import { charactersOf } from "./usage.ts";

/** What owns its loop: a command-line agent, say. Its model's requests are its own affair. */
export interface AgentDriver {
  readonly name: string;
  readonly model: string;
  /** One task, one final answer; it may throw what `fetch` throws, as a ModelProvider may. */
  drive(run: AgentRun): Promise<ModelResponse | ModelFailure>;
}

/** One evaluation, as the agent's driver sees it. */
export interface AgentRun {
  /** As it is now: a call may open sections, whose text and tools are in it from then on. */
  readonly rendered: RenderedPrompt;
  readonly messages: readonly Message[];
  readonly signal: AbortSignal;
  readonly deadline: Deadline | undefined;
  /** One call after another, as in every evaluation: policies asked, changes undone if it fails, told as events. */
  executeToolCall(call: ToolCall): Promise<ToolMessage>;
  /** Heard when the evaluation is streamed. */
  onDelta(delta: ModelDelta): void;
}

/** Lets the agent work as one turn. It is never asked again by itself: that would repeat its tools. */
export async function driveAgent(driver: AgentDriver, run: Run): Promise<ModelResponse | Failure> {
  if (run.turn >= run.maxTurns) {
    return { stop: "turns", phase: "request", message: `No answer within ${run.maxTurns} turns.` };
  }
  const unasked = (await refresh(run)) ?? whyUnkept(driver, run);
  if (unasked !== undefined) return unasked;
  run.turn += 1;
  const stop = run.limits.checkRequest();
  if (stop !== undefined) return stop;
  const reservation = run.limits.reserve({ inputTokens: 0, outputTokens: 0 });
  if (isFailure(reservation)) return reservation;
  const askedAt = run.world.clock.now();
  run.emit({ type: "provider.requested", turn: run.turn, attempt: 1 });

  const deltas = run.watch === undefined ? undefined : turnDeltas(run);
  const work = startWork(run);
  const answering = asData(() =>
    driver.drive({
      get rendered() {
        return run.rendered;
      },
      messages: run.conversation.request(),
      signal: work.signal,
      deadline: run.limits.deadline,
      executeToolCall: work.executeToolCall,
      onDelta: deltas?.begin() ?? (() => {}),
    }),
  );
  const answer = await run.limits.race(Promise.race([answering, work.stopped]), "request");
  const told = deltas?.end() ?? 0;
  await work.end();

  const response = isFailure(answer) || answer.failure !== undefined ? undefined : answer;
  const reported = isFailure(answer) ? undefined : answer.usage;
  const usage = run.spend(reported, response === undefined ? told : charactersOf(response.message));
  reservation.settle(usage);
  if (isFailure(answer)) return answer;
  if (answer.failure === "throttle") {
    reportThrottle(run, answer, 1, undefined);
    return givenUp(answer, 1);
  }
  if (answer.failure !== undefined) return refusedRequest(answer);
  deltas?.complete(answer.message.text);
  return concluded(run, answer, usage, elapsedMs(run.world.clock, askedAt));
}

/** What cannot be kept is refused, never passed over. */
function whyUnkept({ name }: AgentDriver, { toolChoice = "auto", tools }: Run): Failure | undefined {
  if (toolChoice === "auto" || tools.size === 0) return undefined;
  const message = `${name} chooses its tools itself: the toolChoice ${JSON.stringify(toolChoice)} cannot be kept.`;
  return { stop: "provider", phase: "request", reason: "bad_request", message };
}

function concluded(
  run: Run,
  response: ModelResponse,
  usage: Run["usage"],
  durationMs: number,
): ModelResponse | Failure {
  run.model = response.model ?? run.model;
  run.emit({ type: "provider.responded", turn: run.turn, usage, finishReason: response.finishReason, durationMs });
  const unusable = whyUnusable(response);
  if (unusable !== undefined) return unusable;
  // Its calls have been run while it worked.
  run.conversation.append({ ...response.message, toolCalls: [] }, []);
  return run.limits.check("response") ?? response;
}

interface AgentWork {
  /** Fires with the evaluation's, when a tool met a limit, and at the end. */
  readonly signal: AbortSignal;
  readonly stopped: Promise<Failure>;
  executeToolCall(call: ToolCall): Promise<ToolMessage>;
  /** No call begins any more; those that have begun are waited for. */
  end(): Promise<void>;
}

function startWork(run: Run): AgentWork {
  const controller = new AbortController();
  const stopListening = onAbort(run.limits.signal, (reason) => controller.abort(reason));
  const { promise: stopped, resolve: stop } = Promise.withResolvers<Failure>();
  let queue: Promise<unknown> = Promise.resolve();
  let over = false;

  const execute = async (call: ToolCall): Promise<ToolMessage> => {
    if (over) throw new RevokedError(`The agent's turn is over: ${call.name} is not run any more.`);
    const message = withUniqueIds({ role: "assistant", text: "", toolCalls: [call] }, run.world.newId);
    const outcome = await executeToolCalls(run, message);
    const failure = outcome.stop ?? (await refresh(run));
    if (failure !== undefined) {
      over = true;
      stop(failure);
      controller.abort();
    }
    return outcome.answers[0] as ToolMessage;
  };
  return {
    signal: controller.signal,
    stopped,
    executeToolCall(call) {
      const answer = queue.then(() => execute(call));
      queue = answer.catch(() => {});
      return answer;
    },
    async end() {
      over = true;
      stopListening();
      controller.abort();
      await queue;
    },
  };
}
