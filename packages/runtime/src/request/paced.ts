import type {
  ModelFailure,
  ModelResponse,
  Pace,
  PaceEntry,
  PaceLimits,
  PaceOutcome,
  PaceRequest,
  PaceTurn,
  Pacing,
} from "@proviso/core";
import { after } from "@proviso/core/internal";
import { isFailure, type Failure, type Unsent } from "../failures.ts";
import { hiddenField } from "../hidden-field.ts";
import type { Run } from "../run.ts";
import { isInRequestOn, runInRequest } from "../transactions/async-context.ts";
import type { Answered, Outcome, Work, WorkPace } from "./attempt.ts";

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

/** What a pace of ours can do beside `enter`: a request that need not wait makes no promise for its turn. */
interface ReadyPace {
  /** The pace's own `enter`. A pace that has another one by now is asked by that. */
  readonly enter: Pace["enter"];
  /** Begins the request where it need not wait; undefined: it has to `enter`. */
  enterAtOnce(request: PaceRequest, limits: Pick<PaceLimits, "isInside">): PaceTurn | undefined;
}

/** The paces of ours. What an application has put around one has no such field. */
export const readyPaces = /* @__PURE__ */ hiddenField<ReadyPace>();

/** A request that has its turn at a pace: what begins in its code, over the same pace, is inside of it. */
export class HeldTurn {
  /** Milliseconds that the pace has held it back. */
  queuedMs: number;
  readonly #pace: Pace;
  #turn: PaceTurn;
  #isPaused = false;
  #isOver = false;

  constructor(pace: Pace, turn: PaceTurn) {
    this.#pace = pace;
    this.#turn = turn;
    this.queuedMs = turn.queuedMs;
  }

  /** The request waits for something else: others may go before it. */
  pause(): void {
    if (this.#turn.pause === undefined) return;
    this.#turn.pause();
    this.#isPaused = true;
  }

  /** What it waited for is there: waits until the service's limits let it go; undefined: now. */
  again(
    request: PaceRequest,
    limits: Pick<Run["limits"], "signal" | "deadline">,
  ): RefusedEntry | undefined | Promise<RefusedEntry | undefined> {
    if (!this.#isPaused || this.#isOver) return undefined;
    this.#isPaused = false;
    return after(enterTurn(this.#pace, request, limits, { isInside: true }), (entry) => {
      if (!("end" in entry)) return entry;
      // The request may have been left meanwhile.
      if (this.#isOver) entry.giveBack();
      else {
        this.#turn.giveBack();
        this.#turn = entry;
        this.queuedMs += entry.queuedMs;
      }
      return undefined;
    });
  }

  holds(what: unknown): boolean {
    return !this.#isOver && what === this.#pace;
  }

  /** Runs what sends the request. */
  send<T>(body: () => T): T {
    return runInRequest(this, body);
  }

  /** The request is over, and what it has left behind waits like any other. A turn without a request sent is given back. */
  end(isSent: boolean, outcome?: PaceOutcome): void {
    this.#isOver = true;
    if (isSent) this.#turn.end(outcome);
    else this.#turn.giveBack();
  }
}

type Entered = HeldTurn | RefusedEntry;

/**
 * Waits for a request's turn; at a pace of ours it makes no promise where it need not wait. `onWait` is called before it
 * waits, and what it returns after that.
 */
export function enterPace(
  pace: Pace,
  request: PaceRequest,
  limits: Pick<Run["limits"], "signal" | "deadline">,
  onWait?: () => () => void,
): Entered | Promise<Entered> {
  return after(enterTurn(pace, request, limits, { isInside: isInRequestOn(pace), onWait }), (entry) =>
    "end" in entry ? new HeldTurn(pace, entry) : entry,
  );
}

function enterTurn(
  pace: Pace,
  request: PaceRequest,
  { signal, deadline }: Pick<Run["limits"], "signal" | "deadline">,
  { isInside, onWait }: { readonly isInside: boolean; readonly onWait?: (() => () => void) | undefined },
): PaceTurn | RefusedEntry | Promise<PaceTurn | RefusedEntry> {
  const ready = readyPaces.of(pace);
  const turn = ready?.enter === pace.enter ? ready.enterAtOnce(request, { isInside }) : undefined;
  if (turn !== undefined) return turn;
  const limits = { signal, expiresAt: deadline?.expiresAt.getTime(), ...(isInside && { isInside }) };
  return waitForTurn(pace, request, limits, onWait?.());
}

async function waitForTurn(
  pace: Pace,
  request: PaceRequest,
  limits: PaceLimits,
  over: (() => void) | undefined,
): Promise<PaceTurn | RefusedEntry> {
  try {
    const entry = await pace.enter(request, limits);
    return entry.ok ? entry.turn : entry;
  } finally {
    over?.();
  }
}

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
  const stop = run.limits.checkRequest();
  if (stop !== undefined) return stop;
  const entering = enterPace(pace, paceRequestOf(work), run.limits);
  const turn = entering instanceof Promise ? await withinLimits(run, entering) : entering;
  if (isFailure(turn)) return turn;
  if (!("end" in turn)) return heldBack(turn, "it could be sent");
  queued(turn.queuedMs);
  work.hasBegun = false;
  work.pace = { pause: () => turn.pause(), again: () => enterAgain(run, turn, work, queued) };
  let outcome: Outcome | undefined;
  try {
    outcome = await turn.send(send);
    return outcome;
  } finally {
    turn.end(work.hasBegun && !isUnsent(outcome), outcome && paceOutcome(outcome));
  }
}

/** Lets a request that has waited for room go by the limits of now; undefined: at once. */
function enterAgain(run: Run, turn: HeldTurn, work: Work, queued: (ms: number) => void): ReturnType<WorkPace["again"]> {
  const before = turn.queuedMs;
  const entering = turn.again(paceRequestOf(work), run.limits);
  const entered = (refused: RefusedEntry | undefined): Unsent | undefined => {
    queued(turn.queuedMs - before);
    return refused && heldBack(refused, "it could be sent");
  };
  if (!(entering instanceof Promise)) return entered(entering);
  return run.limits.race(entering, "request").then((ended) => (isFailure(ended) ? ended : entered(ended)));
}

async function withinLimits(run: Run, entering: Promise<Entered>): Promise<Entered | Failure> {
  const entered = await run.limits.race(entering, "request");
  // The signal gave its place up; a turn that comes nevertheless is not used.
  if (isFailure(entered)) void giveBackLate(entering);
  return entered;
}

/** Never rejects: no evaluation waits for it any more. */
async function giveBackLate(entering: Promise<Entered>): Promise<void> {
  try {
    const late = await entering;
    if ("end" in late) late.end(false);
  } catch {}
}

/** Whether nothing was sent: a pace did not let it go, or each model of a chain was passed over. */
export function isUnsent(outcome: ModelFailure | ModelResponse | Outcome | Unsent | undefined): boolean {
  if (outcome === undefined || isFailure(outcome) || outcome.failure === undefined) return false;
  return "isUnsent" in outcome || outcome.route?.every((step) => step.outcome === "skipped") === true;
}

export type RefusedEntry = Extract<PaceEntry, { readonly ok: false }>;

/** A request that its pace does not let go in time; `what` could be done later. */
export function heldBack({ reason, retryAfterMs }: RefusedEntry, what: string): Unsent {
  const why = reason === "full" ? "and too many requests wait for their turn" : "which is after the deadline";
  const message = `By its pace ${what} in ${retryAfterMs} ms, ${why}.`;
  return { failure: "throttle", kind: "rate_limit", retry: false, retryAfterMs, message, isUnsent: true };
}

/** An estimate of what the request costs. */
function paceRequestOf(work: Work): PaceRequest {
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
