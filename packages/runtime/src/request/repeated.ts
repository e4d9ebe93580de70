import {
  noUsage,
  type ModelFailure,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
  type Usage,
} from "@proviso/core";
import { isFailure, refusedRequest, type Failure } from "../failures.ts";
import type { WorstCase } from "../limits.ts";
import type { Run } from "../run.ts";
import { turnDeltas } from "../streaming/deltas.ts";
import { charactersOf, worstCaseOf } from "../usage.ts";
import { nextDelay } from "./backoff.ts";
import { asData } from "./model-answer.ts";

type Refused = Extract<ModelFailure, { failure: "throttle" }>;

/** An answer, what it cost, and the limit that it passed. */
export interface Answered {
  readonly response: ModelResponse;
  readonly usage: Usage;
  readonly stop: Failure | undefined;
}

/**
 * Asks until the provider answers, refuses for good, or the policy or a limit ends it. Only the request is repeated,
 * never a tool.
 */
export async function throttled(run: Run, provider: ModelProvider, request: ModelRequest): Promise<Answered | Failure> {
  const deltas = run.watch === undefined ? undefined : turnDeltas(run);
  let waitedMs = 0;
  for (let attempt = 1; ; attempt++) {
    const stop = run.limits.checkRequest();
    if (stop !== undefined) return stop;
    const reservation = run.limits.reserve(worstCase(run, provider, request));
    if (isFailure(reservation)) return reservation;
    run.emit({ type: "provider.requested", turn: run.turn, attempt });
    const asked = deltas === undefined ? request : { ...request, onDelta: deltas.begin() };
    // Who heard that may have aborted.
    const ended = run.limits.stopped("request");
    if (ended !== undefined) {
      reservation.settle(noUsage);
      return ended;
    }
    const answer = await run.limits.race(
      asData(() => provider.generate(asked)),
      "request",
    );
    const told = deltas?.end() ?? 0;
    if (isFailure(answer)) {
      reservation.settle(told === 0 ? noUsage : run.spend(undefined, told));
      return answer;
    }
    if (answer.failure === undefined) {
      const usage = run.spend(answer.usage, charactersOf(answer.message));
      reservation.settle(usage);
      // Looked at before others spend of a shared budget.
      const passed = run.limits.check("response");
      deltas?.complete(answer.message.text);
      return { response: answer, usage, stop: passed };
    }
    const charged = answer.usage !== undefined || told > 0;
    reservation.settle(charged ? run.spend(answer.usage, told) : noUsage);
    if (answer.failure !== "throttle") return refusedRequest(answer);
    const { kind, retryAfterMs } = answer;
    const leftMs = run.limits.deadline?.remainingMs() ?? Infinity;
    const late = run.limits.stopped("request");
    const refusal = { kind, retryAfterMs, attempt, waitedMs, leftMs };
    const delayMs = late === undefined ? nextDelay(run.throttle, refusal, run.world.random) : undefined;
    reportThrottle(run, answer, attempt, delayMs);
    if (late !== undefined) return late;
    if (delayMs === undefined) return givenUp(answer, attempt);
    const slept = await run.limits.race(sleep(run, delayMs), "request");
    if (isFailure(slept)) return slept;
    waitedMs += delayMs;
  }
}

/** Only what is known to be bounded, or expected to be, can be reserved. */
function worstCase(run: Run, { maxOutputTokens = Infinity }: ModelProvider, request: ModelRequest): WorstCase {
  const outputTokens = Math.min(maxOutputTokens, Math.ceil(run.expectedOutputTokens ?? Infinity));
  if (outputTokens === Infinity || run.limits.budget === undefined) return { inputTokens: 0, outputTokens: 0 };
  return worstCaseOf(request, run.conversation, run.knownCost, outputTokens);
}

export function reportThrottle(
  run: Run,
  { kind, retryAfterMs, message }: Refused,
  attempt: number,
  delayMs: number | undefined,
): void {
  run.emit({ type: "provider.throttled", turn: run.turn, attempt, kind, delayMs, retryAfterMs });
  const level = kind === "quota_exhausted" && attempt === 1 ? "error" : "warn";
  run.log(level, { attempt, kind, delayMs, retryAfterMs, reason: message }, "prompt.throttled");
}

/** The failure after the last attempt. */
export function givenUp(refused: Refused, attempts: number): Failure {
  const { kind, retryAfterMs, message, payload, cause } = refused;
  const asked = retryAfterMs === undefined ? "" : ` It asked for ${retryAfterMs} ms.`;
  return {
    stop: "throttled",
    phase: "request",
    kind,
    retryAfterMs,
    attempts,
    message: `The provider refused ${attempts === 1 ? "the request" : `${attempts} requests`} (${kind}): ${message}${asked}`,
    payload,
    cause,
  };
}

async function sleep(run: Run, ms: number): Promise<undefined> {
  // An abort is told by the race.
  await run.world.clock.sleep(ms, run.limits.signal).catch(() => {});
}
