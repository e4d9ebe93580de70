import type { ModelFailure, ModelResponse } from "@proviso/core";

/** What one adapter of a chain refused with, or answered that cannot be used. */
export interface Refusal {
  readonly name: string;
  readonly answer: ModelResponse | ModelFailure;
}

type Throttle = Extract<ModelFailure, { readonly failure: "throttle" }>;

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

/** The failure of a chain, with who could not take the request, and why. */
export function naming<F extends ModelFailure>(failure: F, unable: readonly string[]): F {
  if (unable.length === 0) return failure;
  const message = failure.message.trimEnd();
  const sentence = /[.!?]$/.test(message) ? message : `${message}.`;
  return { ...failure, message: `${sentence} Not asked: ${unable.join(" ")}` };
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
