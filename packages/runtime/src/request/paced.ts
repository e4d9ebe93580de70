import type { ModelFailure, Pace, PaceOutcome, PaceRequest, PaceTurn, Pacing } from "@proviso/core";
import { isFailure, type Failure } from "../failures.ts";
import { hiddenField } from "../hidden-field.ts";
import type { Run } from "../run.ts";
import type { Answered, Outcome, Work } from "./attempt.ts";

/** The pace that an evaluation's requests keep: that of its options, else that of its adapter. */
export function paceOf(
  pacing: Pace | Pacing | "off" | undefined,
  {
    pace,
    provider,
    isChain,
  }: {
    readonly pace: Pace | undefined;
    readonly provider: { name: string; model: string };
    readonly isChain?: boolean | undefined;
  },
): Pace | undefined {
  if (pacing === "off") return undefined;
  if (pacing === undefined) return pace;
  if (!("lane" in pacing)) return pacing;
  // A chain has none: the members keep paces of their own.
  return isChain === true ? undefined : pacing.lane(provider.name, provider.model);
}

/** A request that its pace did not let go. */
export type Unsent = Extract<ModelFailure, { failure: "throttle" }> & { readonly isUnsent: true };

/** What a pace of ours can do beside `enter`: a request that need not wait makes no promise for its turn. */
interface ReadyPace {
  /** The pace's own `enter`. A pace that has another one by now is asked by that. */
  readonly enter: Pace["enter"];
  /** Begins the request where it need not wait; undefined: it has to `enter`. */
  enterAtOnce(request: PaceRequest): PaceTurn | undefined;
}

/** The paces of ours. What an application has put around one has no such field. */
export const readyPaces = /* @__PURE__ */ hiddenField<ReadyPace>();

/**
 * Sends a request when it is its turn. It waits before anything of a budget is reserved, and not past the evaluation's
 * limits; `queued` gets the milliseconds.
 */
export async function pacedRequest(
  {
    run,
    pace,
    work,
    queued,
  }: {
    readonly run: Run;
    readonly pace: Pace;
    readonly work: Work;
    readonly queued: (ms: number) => void;
  },
  send: () => Promise<Outcome> | Outcome,
): Promise<Outcome | Unsent> {
  const turn = turnAtOnce(run, pace, work) ?? (await turnOf(run, pace, work));
  if (!("end" in turn)) return turn;
  queued(turn.queuedMs);
  let outcome: Outcome | undefined;
  try {
    outcome = await send();
    return outcome;
  } finally {
    turn.end(outcome === undefined ? undefined : paceOutcome(outcome));
  }
}

/** The turn of a request that need not wait, from a pace of ours whose `enter` is still its own; undefined: it enters. */
function turnAtOnce(run: Run, pace: Pace, work: Work): PaceTurn | Failure | undefined {
  const ready = readyPaces.of(pace);
  if (ready === undefined || ready.enter !== pace.enter) return undefined;
  return run.limits.checkRequest() ?? ready.enterAtOnce(askedOf(work));
}

async function turnOf(run: Run, pace: Pace, work: Work): Promise<PaceTurn | Unsent | Failure> {
  const stop = run.limits.checkRequest();
  if (stop !== undefined) return stop;
  const { signal, deadline } = run.limits;
  const entering = pace.enter(askedOf(work), { signal, expiresAt: deadline?.expiresAt.getTime() });
  const entry = await run.limits.race(entering, "request");
  if (isFailure(entry)) {
    // The signal gave its place up; a turn that comes nevertheless is not used.
    void giveBackLate(entering);
    return entry;
  }
  if (entry.ok) return entry.turn;
  const { reason, retryAfterMs } = entry;
  const why = reason === "full" ? "too many requests wait for their turn" : "the deadline is earlier";
  const message = `By its pace it could be sent in ${retryAfterMs} ms, and ${why}.`;
  return { failure: "throttle", kind: "rate_limit", retry: false, retryAfterMs, message, isUnsent: true };
}

/** Never rejects: no evaluation waits for it any more. */
async function giveBackLate(entering: ReturnType<Pace["enter"]>): Promise<void> {
  try {
    const late = await entering;
    if (late.ok) late.turn.giveBack();
  } catch {}
}

/** An estimate of what the request costs. */
function askedOf(work: Work): PaceRequest {
  return { inputTokens: work.inputTokens(), outputTokens: work.limit?.() ?? 0 };
}

/** What a pace learns from the end of a request; undefined: nothing. */
export function paceOutcome(
  outcome: ModelFailure | Failure | Pick<Answered, "failure" | "response" | "usage">,
): PaceOutcome | undefined {
  if (isFailure(outcome)) return undefined;
  if (outcome.failure === undefined) {
    const { response, usage } = outcome;
    return { rateLimit: response.rateLimit, usage: usage.estimated ? undefined : usage };
  }
  const { rateLimit } = outcome;
  if (outcome.failure !== "throttle") return { rateLimit };
  const { kind, retryAfterMs } = outcome;
  if (kind === "rate_limit") return { rateLimit, refused: { retryAfterMs } };
  return retryAfterMs === undefined ? { rateLimit } : { rateLimit, refused: { tooOften: false, retryAfterMs } };
}
