import type { ModelFailure, ModelProvider, ModelRequest } from "@proviso/core";
import { failure, isFailure, refusedRequest, type Failure } from "../failures.ts";
import type { WorstCase } from "../limits.ts";
import type { Run } from "../run.ts";
import { turnDeltas } from "../streaming/deltas.ts";
import { worstCaseOf } from "../usage.ts";
import { attemptRequest, type Answered, type Work } from "./attempt.ts";
import { nextDelay } from "./backoff.ts";

type Refused = Extract<ModelFailure, { failure: "throttle" }>;

/**
 * Asks until the provider answers, refuses for good, or the policy or a limit ends it. Only the request is repeated,
 * never a tool.
 */
export async function throttled(run: Run, provider: ModelProvider, request: ModelRequest): Promise<Answered | Failure> {
  const deltas = run.watch === undefined ? undefined : turnDeltas(run);
  const work: Work = {
    worstCase: worstCase(run, provider, request),
    begin: (onDelta) => provider.generate(onDelta === undefined ? request : { ...request, onDelta }),
  };
  let waitedMs = 0;
  for (let attempt = 1; ; attempt++) {
    const answer = await attemptRequest(run, attempt, work, deltas);
    if (isFailure(answer) || answer.failure === undefined) return answer;
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
  return failure({
    stop: "throttled",
    phase: "request",
    kind,
    retryAfterMs,
    attempts,
    message: `The provider refused ${attempts === 1 ? "the request" : `${attempts} requests`} (${kind}): ${message}${asked}`,
    payload,
    cause,
  });
}

async function sleep(run: Run, ms: number): Promise<undefined> {
  // The race around it returns the abort.
  await run.world.clock.sleep(ms, run.limits.signal).catch(() => {});
}
