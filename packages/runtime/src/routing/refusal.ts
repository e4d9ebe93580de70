import type { ModelFailure, ModelResponse, RouteStep, Usage } from "@proviso/core";
import { sentence, type Failure } from "../failures.ts";
import { stepOfAnswer } from "@proviso/core/internal";

/** What one adapter of a chain refused with, or answered that cannot be used. */
export interface Refusal {
  readonly name: string;
  readonly answer: ModelResponse | ModelFailure;
  /** The budget that had no room for it; undefined: it was asked. */
  readonly noRoom?: Failure | undefined;
}

/** The budget that had no room for one of them; undefined: each was asked. */
export function noRoomIn(refusals: readonly Refusal[]): Failure | undefined {
  return refusals.find(({ noRoom }) => noRoom !== undefined)?.noRoom;
}

export type Throttle = Extract<ModelFailure, { readonly failure: "throttle" }>;

/** Several refusals as one: where one of them may be asked again, the earliest wait; else the last one. */
export function refusalOf(refusals: readonly Refusal[]): ModelResponse | ModelFailure {
  const throttles = refusals.map(({ answer }) => answer).filter(isThrottle);
  const [first] = throttles;
  if (first === undefined) return refusals.at(-1)?.answer ?? noneLeft;
  const earliest = throttles.reduce((best, one) => (waitOf(one) < waitOf(best) ? one : best), first);
  if (refusals.length === 1) return earliest;
  const message = refusals.map(({ name, answer }) => `${name}: ${textOf(answer)}`).join(" ");
  return { ...earliest, message };
}

/** What all tries of a chain come to beside its answer. */
export interface TriesOfChain {
  /** undefined: nothing. A usage that is in part an estimate says so. */
  readonly usage: Usage | undefined;
  readonly route: readonly RouteStep[];
  /** Why some could not take the request. */
  readonly unable: readonly string[];
  readonly queuedMs: number;
}

/** The answer of a chain, or its failure, with what all of its tries have cost and where they went. */
export function wholeAnswer(
  answer: ModelResponse | ModelFailure,
  { usage, route, unable, queuedMs }: TriesOfChain,
): ModelResponse | ModelFailure {
  if (answer.failure !== undefined) return naming({ ...answer, usage, route }, unable);
  const answered = stepOfAnswer(route) ?? route.at(-1);
  return { ...answer, usage, model: answer.model ?? answered?.model, route, queuedMs };
}

/** The failure of a chain, with who could not take the request, and why. */
function naming<F extends ModelFailure>(failure: F, unable: readonly string[]): F {
  if (unable.length === 0) return failure;
  return { ...failure, message: `${sentence(failure.message)} Not asked: ${unable.join(" ")}` };
}

const noneLeft: ModelFailure = {
  failure: "provider",
  reason: "bad_request",
  message: "None of the adapters can take the request.",
};

function isThrottle(answer: ModelResponse | ModelFailure): answer is Throttle {
  return answer.failure === "throttle";
}

/** Milliseconds; who does not want to be asked again is never the earliest. */
function waitOf({ retry, retryAfterMs = 0 }: Throttle): number {
  return retry === false ? Infinity : retryAfterMs;
}

function textOf(answer: ModelResponse | ModelFailure): string {
  return answer.failure === undefined ? "its answer cannot be used." : answer.message;
}
