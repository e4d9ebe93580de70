import type { ModelFailure, ModelProvider, ModelRequest } from "@proviso/core";
import { failure, isFailure, refusedRequest, sentence, type Failure, type Unsent } from "../failures.ts";
import { remainingMs } from "../limits.ts";
import type { Run } from "../run.ts";
import { turnDeltas, type TurnDeltas } from "../streaming/deltas.ts";
import { attemptRequest, type Answered, type Outcome } from "./attempt.ts";
import { nextDelay } from "./backoff.ts";
import { LimitedWork } from "./limited-work.ts";
import { isUnsent, pacedRequest } from "./paced.ts";

type Refused = Extract<ModelFailure, { failure: "throttle" }>;

/** An answer, and why it cannot be used: the budget ended before it did. */
export interface AnsweredOrCut extends Answered {
  readonly cut: Failure | undefined;
  /** Milliseconds that its pace held it back, all attempts together. */
  readonly queuedMs: number;
  /** How many messages the request had. */
  readonly messages: number;
}

/**
 * Asks until the provider answers, refuses for good, or the policy or a limit ends it. Only the request is repeated,
 * never a tool. `before` is the text that came before the provider paused.
 */
export async function askUntilAnswered(
  run: Run,
  provider: ModelProvider,
  given: ModelRequest,
  before?: string,
): Promise<AnsweredOrCut | Failure> {
  const deltas = run.watch === undefined ? undefined : turnDeltas(run, before);
  let request = given;
  let work = new LimitedWork(run, provider, request);
  let waitedMs = 0;
  let refusals = 0;
  let quotaReported = false;
  let queuedMs = 0;
  for (let attempt = 1; ; attempt++) {
    const asked = work;
    const answer = await sendPaced(run, attempt, { work: asked, deltas }, (ms) => {
      asked.queuedMs = queuedMs += ms;
    });
    if (isFailure(answer)) return answer;
    const cutShort = (): Failure | undefined => work.cutShort(answer);
    const cut = run.tape === undefined ? cutShort() : run.tape.cut(run, cutShort, textOf(answer));
    if (answer.failure === undefined) {
      return {
        ...answer,
        cut,
        queuedMs,
        messages: run.files?.messagesIn(request) ?? request.messages.length,
      };
    }
    if (cut !== undefined) return cut;
    if (answer.failure !== "throttle") {
      const lift = (): boolean => work.liftLimit(answer);
      if (run.tape === undefined ? lift() : run.tape.lifts(run, lift)) continue;
      const shorter = run.context && (await run.context.afterRefusal(answer, request));
      if (shorter === undefined && run.tape?.repeats(run) === true) continue;
      if (shorter === undefined) return refusedRequest(answer);
      if (isFailure(shorter)) return shorter;
      const prepared = run.files === undefined ? shorter : await run.files.prepare(shorter, provider);
      if (isFailure(prepared)) return prepared;
      request = prepared;
      work = work.shorter(request);
      continue;
    }
    const { kind, retryAfterMs } = answer;
    const { deadline } = run.limits;
    const leftMs = deadline === undefined ? Infinity : remainingMs(deadline);
    const late = run.limits.stopped("request");
    // A request that went out again in another form was not refused for the moment: it uses up none of the policy's attempts.
    const refusal = { kind, retryAfterMs, attempt: ++refusals, waitedMs, leftMs };
    const mayAsk = late === undefined && answer.retry !== false;
    const next = (): number | undefined => (mayAsk ? nextDelay(run.throttle, refusal, run.world.random) : undefined);
    const delayMs = run.tape === undefined ? next() : run.tape.delay(run, next);
    reportThrottle(run, answer, { attempt, delayMs, quotaReported });
    quotaReported ||= kind === "quota_exhausted";
    if (late !== undefined) return late;
    if (delayMs === undefined) return givenUp(answer, attempt);
    const slept = await run.limits.race(sleep(run, delayMs), "request");
    if (isFailure(slept)) return slept;
    waitedMs += delayMs;
  }
}

function textOf(answer: Answered | ModelFailure): string | undefined {
  return answer.failure === undefined ? answer.response.message.text : undefined;
}

interface Sending {
  readonly work: LimitedWork;
  readonly deltas: TurnDeltas | undefined;
}

/** Sends a request when its pace lets it go. The record has what its pace refused, since a replay has no pace. */
async function sendPaced(
  run: Run,
  attempt: number,
  { work, deltas }: Sending,
  queued: (ms: number) => void,
): Promise<Outcome | Unsent> {
  const { pace, tape } = run;
  const send = (): Promise<Outcome> | Outcome => attemptRequest(run, attempt, work, deltas);
  if (pace === undefined || tape?.isKept() === true) return tape?.unsent(run) ?? send();
  const outcome = await pacedRequest({ run, pace, work, queued }, send);
  if (tape !== undefined && "isUnsent" in outcome) tape.unsent(run, outcome as Unsent);
  return outcome;
}

interface Refusals {
  readonly attempt: number;
  /** undefined: the request is given up. */
  readonly delayMs: number | undefined;
  /** Whether an earlier attempt met an exhausted quota: it is an error in the log once. Default false. */
  readonly quotaReported?: boolean;
}

export function reportThrottle(
  run: Run,
  { kind, retryAfterMs, message, route }: Refused,
  { attempt, delayMs, quotaReported = false }: Refusals,
): void {
  const tried = route === undefined ? undefined : { route };
  run.publish({ type: "provider.throttled", turn: run.turn, attempt, kind, delayMs, retryAfterMs, ...tried });
  const level = kind === "quota_exhausted" && !quotaReported ? "error" : "warn";
  run.log(level, { turn: run.turn, attempt, kind, delayMs, retryAfterMs, reason: message }, "prompt.throttled");
}

/** The failure after the last attempt. */
export function givenUp(refused: Refused, attempts: number): Failure {
  const { kind, retryAfterMs, message, status, payload, cause } = refused;
  const isWhole = retryAfterMs === undefined || isUnsent(refused);
  const text = isWhole ? message : `${sentence(message)} It asked for ${retryAfterMs} ms.`;
  return failure({
    stop: "throttled",
    phase: "request",
    kind,
    retryAfterMs,
    attempts,
    status,
    message: `${whatFailed(refused, attempts)} (${kind}): ${text}`,
    payload,
    cause,
  });
}

/** A server that cannot be reached has refused nothing. */
function whatFailed(refused: Refused, attempts: number): string {
  if (isUnsent(refused)) return attempts === 1 ? "The request was not sent" : "The request was not sent again";
  const { kind } = refused;
  if (kind !== "network") return `The provider refused ${attempts === 1 ? "the request" : `${attempts} requests`}`;
  return attempts === 1 ? "The request could not be sent" : `The request could not be sent ${attempts} times`;
}

async function sleep(run: Run, ms: number): Promise<undefined> {
  // The race around it returns the abort.
  const wait = (): Promise<unknown> => run.world.clock.sleep(ms, run.limits.signal).catch(() => {});
  await (run.tape === undefined ? wait() : run.tape.waited(run, wait));
}
