// 1. Nothing begins after a limit: the limits are checked before the request, and again after its event.
// 2. What was reserved is settled once, whatever happens, with what the request cost.
import { noUsage, type ModelDelta, type ModelFailure, type ModelResponse, type Usage } from "@proviso/core";
import { isFailure, type Failure } from "../failures.ts";
import type { Reservation, WorstCase } from "../limits.ts";
import type { Run } from "../run.ts";
import type { TurnDeltas } from "../streaming/deltas.ts";
import { charactersOf } from "../usage.ts";
import { asData } from "./model-answer.ts";

/** What a request sets going: one answer of a model, or the whole turn of an agent. */
export interface Work {
  /** Reserved in every budget while the request runs. */
  readonly worstCase: WorstCase;
  /** Called once for each attempt; `onDelta` is undefined where nobody watches. It may throw, and return anything. */
  begin(onDelta: ((delta: ModelDelta) => void) | undefined): Promise<unknown>;
  /** Resolves when the work has to end for a reason of its own, before the evaluation's limits are met. */
  readonly stopped?: Promise<Failure>;
  /** Characters that it has produced so far. Left out: those of its deltas. */
  produced?(): number;
}

/** An answer, what it cost, and the limit that it passed. */
export interface Answered {
  readonly failure?: undefined;
  readonly response: ModelResponse;
  readonly usage: Usage;
  readonly stop: Failure | undefined;
}

type Outcome = Answered | ModelFailure | Failure;

/**
 * One request, to a model or to an agent: limits, reservation, event, limits again, the work itself, its cost. As an
 * async function it would make one promise more for each request.
 */
export function attemptRequest(
  run: Run,
  attempt: number,
  work: Work,
  deltas: TurnDeltas | undefined,
): Promise<Outcome> | Failure {
  const stop = run.limits.checkRequest();
  if (stop !== undefined) return stop;
  const reservation = run.limits.reserve(work.worstCase);
  if (isFailure(reservation)) return reservation;
  try {
    return begun(run, attempt, work, deltas, reservation);
  } catch (cause) {
    reservation.settle(noUsage);
    throw cause;
  }
}

function begun(
  run: Run,
  attempt: number,
  work: Work,
  deltas: TurnDeltas | undefined,
  reservation: Reservation,
): Promise<Outcome> | Failure {
  run.emit({ type: "provider.requested", turn: run.turn, attempt });
  const onDelta = deltas?.begin();
  // A listener may have aborted.
  const ended = run.limits.stopped("request");
  if (ended !== undefined) {
    reservation.settle(noUsage);
    return ended;
  }
  const answering = asData(work, onDelta);
  const ending = work.stopped === undefined ? answering : Promise.race([answering, work.stopped]);
  return run.limits.race(ending, "request").then((answer) => settled(run, work, deltas, reservation, answer));
}

/** Charges for the request as soon as it is over. */
function settled(
  run: Run,
  work: Work,
  deltas: TurnDeltas | undefined,
  reservation: Reservation,
  answer: ModelResponse | ModelFailure | Failure,
): Outcome {
  const streamed = deltas?.end() ?? 0;
  if (isFailure(answer) || answer.failure !== undefined) {
    reservation.settle(costOfNoAnswer(run, answer, work.produced?.() ?? streamed));
    return answer;
  }
  const usage = run.spend(answer.usage, charactersOf(answer.message));
  reservation.settle(usage);
  // Checked before others spend from a shared budget.
  const passed = run.limits.check("response");
  deltas?.complete(answer.message.text);
  return { response: answer, usage, stop: passed };
}

/** What was reported, or an estimate; nothing where the work ended before it had reported or produced anything. */
function costOfNoAnswer(run: Run, end: ModelFailure | Failure, produced: number): Usage {
  const reported = isFailure(end) ? undefined : end.usage;
  return reported === undefined && produced === 0 ? noUsage : run.spend(reported, produced);
}
