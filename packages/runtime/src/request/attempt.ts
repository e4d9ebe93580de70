// 1. Nothing begins after a limit: the limits are checked before the request, and again after its event.
// 2. What was reserved is settled once, whatever happens, with what the request cost.
import type { Message, ModelFailure, ModelRequest, ModelResponse, Usage, ProviderRequested } from "@proviso/core";
import type { ModelDelta } from "@proviso/core/provider";
import { addUsage, countUsage, noUsage, stepOfAnswer } from "@proviso/core/internal";
import type { Wanted } from "../budget-room.ts";
import type { Granted } from "../budgets.ts";
import { elapsedMs } from "../environment.ts";
import { isFailure, type Failure, type Unsent } from "../failures.ts";
import { keepsLevel } from "../logging.ts";
import type { AgentTurn } from "../recording/contract.ts";
import type { Run } from "../run.ts";
import type { TurnDeltas } from "../streaming/deltas.ts";
import { runInRequest } from "../transactions/async-context.ts";
import { asData } from "./model-answer.ts";
import { TryEstimate, type EstimatedWork } from "./try-estimate.ts";
import { sectionsOf } from "../rendering.ts";
import { wellFormedAnswer } from "../well-formed.ts";

/** What a request sets going: one answer of a model, or the whole turn of an agent. */
export interface Work extends EstimatedWork {
  /** Reserved in every budget while the request runs; undefined: nothing. */
  readonly wanted: Wanted | undefined;
  /**
   * Called once for each attempt. `onDelta` is undefined where the evaluation is not streamed; `granted` is what the
   * attempt holds of the budgets. It may throw, and return anything.
   */
  begin(onDelta: ((delta: ModelDelta) => void) | undefined, granted: Granted): Promise<unknown>;
  /** Resolves when the work has to end for a reason of its own, before the evaluation's limits are met. */
  readonly stopped?: Promise<Failure>;
  /** The turn of an agent that it is; left out: a model is asked. */
  readonly turn?: AgentTurn | undefined;
  /** What is sent. */
  readonly messages: readonly Message[];
  /** Milliseconds that its pace has held it back; left out: none. */
  queuedMs?: number;
  /** Whether the attempt under way has begun, where a pace asks for it. */
  hasBegun?: boolean;
  /** The pace that has let it go; left out: none. */
  pace?: WorkPace;
  /** What is asked; left out: an agent's turn. */
  readonly request?: ModelRequest | undefined;
  /** What all tries of the request under way have cost; undefined: nothing. Left out: one model is asked. */
  spentByTries?(): { readonly cost: Usage | undefined } | undefined;
}

/** What a request has of its pace once it has its turn. */
export interface WorkPace {
  /** The request waits for room: others may go before it. */
  pause(): void;
  /** There is room: the request goes by the pace of now. Comes to why it is not sent; undefined: it is. */
  again(): NotSent | Promise<NotSent>;
}

type NotSent = Failure | Unsent | undefined;

/** An answer, what it cost, and the limit that it passed. */
export interface Answered {
  readonly failure?: undefined;
  readonly response: ModelResponse;
  /** What all tries have cost, where several models were asked. */
  readonly usage: Usage;
  /** What this answer alone has cost. */
  readonly own: Usage;
  readonly stop: Failure | undefined;
}

export type Outcome = Answered | ModelFailure | Failure;

/**
 * One request, to a model or to an agent: limits, reservation, event, limits again, the work itself, its cost. As an
 * async function it would make one promise more for each request.
 */
export function attemptRequest(
  run: Run,
  attempt: number,
  work: Work,
  deltas: TurnDeltas | undefined,
): Promise<Outcome> | Outcome {
  const stop = run.limits.checkRequest();
  if (stop !== undefined) return stop;
  const granted = run.limits.reserve(work.wanted);
  if (!(granted instanceof Promise)) return sendObserved(run, attempt, work, deltas, granted);
  return waitFor(run, granted, work.pace)
    .then((got) => stillPaced(work, got))
    .then((got) => sendObserved(run, attempt, work, deltas, got));
}

/** What was granted after a wait, when the pace lets the request go. */
async function stillPaced(work: Work, granted: Granted | Failure): Promise<Granted | Failure | Unsent> {
  if (isFailure(granted) || work.pace === undefined) return granted;
  try {
    const notSent = await work.pace.again();
    if (notSent === undefined) return granted;
    granted.settle(noUsage);
    return notSent;
  } catch (cause) {
    granted.settle(noUsage);
    throw cause;
  }
}

/** Waits until other requests have settled, but not past a limit: what is granted once one is met is given back. */
async function waitFor(
  run: Run,
  granting: Promise<Granted | Failure>,
  pace: WorkPace | undefined,
): Promise<Granted | Failure> {
  let isKept = false;
  try {
    pace?.pause();
    const got = await waitForRoom(run, granting);
    const stop = isFailure(got) ? got : run.limits.stopped("request");
    isKept = stop === undefined;
    return stop ?? got;
  } finally {
    if (!isKept) granting.then((granted) => isFailure(granted) || granted.settle(noUsage)).catch(() => {});
  }
}

/** What others' settling leads to, or the limit that is met before. */
export async function waitForRoom<T>(run: Run, granting: Promise<T>): Promise<T | Failure> {
  run.log("debug", { turn: run.turn }, "budget.wait");
  // A wait that the signal ended rejects; the race returns why.
  return await run.limits.race(granting, "request").catch((error: unknown) => {
    const why = run.limits.stopped("request");
    if (why === undefined) throw error;
    return why;
  });
}

/** Sends what room was granted for, inside of what observers put around a request. */
function sendObserved(
  run: Run,
  attempt: number,
  work: Work,
  deltas: TurnDeltas | undefined,
  granted: Granted | Failure | Unsent,
): Promise<Outcome> | Outcome {
  if (isFailure(granted) || "isUnsent" in granted) return granted;
  const { observing } = run;
  if (observing?.surrounds === true && !isKept(run)) {
    const sending = (): Promise<Outcome> | Outcome => sendOrSettle(run, attempt, work, deltas, granted);
    return observing.aroundRequest(attempt, work.messages, sending);
  }
  return sendOrSettle(run, attempt, work, deltas, granted);
}

/** Whether the record has the answer, so that nothing is sent. */
function isKept({ tape, isInside }: Run): boolean {
  return tape !== undefined && !isInside && tape.isKept();
}

/** Sends, and gives back what was granted where that throws. */
function sendOrSettle(
  run: Run,
  attempt: number,
  work: Work,
  deltas: TurnDeltas | undefined,
  granted: Granted,
): Promise<Outcome> | Failure {
  try {
    return send(run, attempt, work, deltas, granted);
  } catch (cause) {
    granted.settle(noUsage);
    throw cause;
  }
}

/** Emits that the request is sent, sends it, and charges for its answer. */
function send(
  run: Run,
  attempt: number,
  work: Work,
  deltas: TurnDeltas | undefined,
  granted: Granted,
): Promise<Outcome> | Failure {
  announceRequest(run, attempt, work.messages.length);
  run.log("debug", { turn: run.turn, attempt }, "prompt.call.start");
  const { logger } = run.world;
  const askedAt = logger !== undefined && keepsLevel(logger, "debug") ? run.world.clock.now() : undefined;
  const onDelta = deltas?.begin();
  // A listener may have aborted.
  const ended = run.limits.stopped("request");
  if (ended !== undefined) {
    granted.settle(noUsage);
    logEnd(run, attempt, askedAt, ended);
    return ended;
  }
  const ask = (own: typeof onDelta): ReturnType<typeof asData> => asData(work, own, granted);
  const { request, queuedMs, turn } = work;
  const answer = (): ReturnType<typeof asData> =>
    run.tape === undefined ? ask(onDelta) : run.tape.answer(run, { attempt, request, queuedMs, onDelta, turn, ask });
  // A model is not given the evaluation's own budget, so it cannot begin an evaluation that waits for it.
  const isAlone = turn === undefined && !granted.isShared;
  const answering = priced(run, isAlone ? answer() : runInRequest(granted, answer));
  const ending = work.stopped === undefined ? answering : Promise.race([answering, work.stopped]);
  const fail = (cause: unknown): never => {
    granted.settle(noUsage);
    throw cause;
  };
  const conclude = (answer: ModelResponse | ModelFailure | Failure): Outcome => {
    try {
      const outcome = chargeRequest(run, work, deltas, granted, answer);
      logEnd(run, attempt, askedAt, outcome);
      return outcome;
    } catch (cause) {
      return fail(cause);
    }
  };
  const racing = run.limits.race(ending, "request");
  // What an agent's turn costs stands behind its calls in a record.
  const isAfterCalls = turn !== undefined && run.tape !== undefined;
  const over = isAfterCalls ? racing.then((answer) => turn.idle(answer).then(() => answer)) : racing;
  return over.then(conclude, fail);
}

/** The first answer of an adapter waits for its prices, if they are not there yet. */
function priced<T>({ prices }: Run, answering: Promise<T>): Promise<T> {
  if (prices.current() !== undefined) return answering;
  const loading = prices.load();
  return answering.then((answer) => loading.then(() => answer));
}

/** `askedAt` is undefined where it is not logged. */
function logEnd(run: Run, attempt: number, askedAt: number | undefined, outcome: Outcome): void {
  if (askedAt === undefined) return;
  const of = { turn: run.turn, attempt, durationMs: elapsedMs(run.world.clock, askedAt) };
  const how =
    isFailure(outcome) || outcome.failure !== undefined ? { error: outcome.message } : { usage: outcome.usage };
  run.log("debug", { ...of, ...how }, "prompt.call.complete");
}

/** Charges for the request as soon as it is over. */
function chargeRequest(
  run: Run,
  work: Work,
  deltas: TurnDeltas | undefined,
  granted: Granted,
  given: ModelResponse | ModelFailure | Failure,
): Outcome {
  const streamed = deltas?.end() ?? "";
  // A provider may make anything of the error that a delta beyond the bound threw.
  const answer = isFailure(given) ? given : (deltas?.fault() ?? given);
  if (isFailure(answer) || answer.failure !== undefined) {
    const spend = (): Usage => costOfNoAnswer(run, work, answer, streamed);
    granted.settle(run.tape === undefined ? spend() : run.tape.unanswered(run, spend));
    return answer;
  }
  const usage = run.spend(answer.usage, new TryEstimate(work, answer, streamed));
  granted.settle(usage);
  // Checked before others spend from a shared budget.
  const passed = run.limits.check("response");
  deltas?.complete(answer.message);
  // What another try has cost is no cost of this answer.
  const answered = stepOfAnswer(answer.route)?.usage;
  const own = answered === undefined ? usage : countUsage(answered, noUsage);
  return { response: wellFormedAnswer(answer), usage, own, stop: passed ?? run.limits.unpriced(own) };
}

/** What was reported, or an estimate; nothing where the work ended before it had reported or produced anything. */
function costOfNoAnswer(run: Run, work: Work, end: ModelFailure | Failure, streamed: string): Usage {
  const tries = work.spentByTries?.();
  if (tries !== undefined) return tries.cost === undefined ? noUsage : run.spend(tries.cost, noUsage);
  // An older record has what the tries had cost beside an estimate of the one under way.
  const { tape, isInside } = run;
  const kept = isFailure(end) && tape !== undefined && !isInside ? tape.tries() : undefined;
  const reported = isFailure(end) ? undefined : end.usage;
  const estimate = new TryEstimate(work, end, streamed);
  if (estimate.isFree) return kept === undefined ? noUsage : run.spend(kept, noUsage);
  return run.spend(kept === undefined ? reported : addUsage(kept, countUsage(reported, estimate)), estimate);
}

type BareRequested = Omit<ProviderRequested, "sessionId" | "evaluationId" | "seq" | "at">;

/** Emits `provider.requested`, with what the model reads for the first time. */
function announceRequest(run: Run, attempt: number, messages: number): void {
  const { history, rendered, announced, turn } = run;
  const { added } = history;
  history.added = undefined;
  run.announced = rendered;
  run.announce("provider.requested", () => {
    if (added === undefined && announced === rendered) {
      // Fields that come later would stand in a second object.
      return { type: "provider.requested", turn, attempt, messages, evaluationId: "", at: 0, sessionId: "", seq: 0 };
    }
    const bare: BareRequested = { type: "provider.requested", turn, attempt, messages };
    const news = added === undefined ? bare : withAdded(bare, added);
    if (announced === rendered) return news;
    const tools = rendered.tools.map(({ name }) => name);
    return { ...news, prompt: { text: rendered.text, sections: sectionsOf(run), tools } };
  });
}

function withAdded(bare: BareRequested, added: readonly string[]): BareRequested {
  // oxlint-disable-next-line proviso/plain-words -- the field's name is part of the public event
  return { ...bare, said: added };
}
