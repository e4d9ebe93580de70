// What a try comes to, and what is learnt of its service and its pace.
import type { ModelFailure, ModelProvider, ModelResponse, PaceOutcome, RouteStep, Usage } from "@proviso/core";
import type { Failure } from "../failures.ts";
import { answerFault } from "../inner-loop.ts";
import { heldBack, paceOutcome, type RefusedEntry } from "../request/paced.ts";
import type { ServiceState } from "./breaker.ts";
import { skippedStep } from "./member.ts";
import type { TryReason } from "./reasons.ts";
import type { Throttle } from "./refusal.ts";

/** A try that is over. */
export interface Tried {
  readonly answer: ModelResponse | ModelFailure;
  /** Why it is no answer that can be used; undefined: it is one. */
  readonly reason: TryReason | undefined;
  /** One, or those of a chain inside the chain. */
  readonly steps: readonly RouteStep[];
  readonly queuedMs: number;
  /** The budget that had no room for it, or for a model of a chain inside. */
  readonly noRoom?: Failure | undefined;
}

/** A try of which nothing was sent. */
export function passedOver(provider: ModelProvider, answer: Throttle): Tried {
  return { answer, reason: answer.kind, steps: [skippedStep(provider, answer.message)], queuedMs: 0 };
}

export function withoutRoom(noRoom: Failure): Tried {
  const answer = { failure: "provider", reason: "bad_request", message: noRoom.message } as const;
  return { answer, reason: "bad_request", steps: [], queuedMs: 0, noRoom };
}

/** A try that its pace did not let go. */
export function unsent(provider: ModelProvider, entry: RefusedEntry): Tried {
  const { isUnsent: _, ...answer } = heldBack(entry, `${provider.name} could be asked`);
  return passedOver(provider, answer);
}

/** What the pace learns of a try; undefined: nothing. */
export function paceOutcomeOf(answer: ModelResponse | ModelFailure, cost: Usage | undefined): PaceOutcome | undefined {
  if (answer.failure !== undefined) return paceOutcome(answer);
  return cost && paceOutcome({ failure: undefined, response: answer, usage: cost });
}

/** undefined: the answer can be used. */
export function reasonOf(answer: ModelResponse | ModelFailure): TryReason | undefined {
  if (answer.failure === undefined) {
    const fault = answerFault(answer);
    return fault?.stop === "provider" ? fault.reason : undefined;
  }
  if (answer.failure === "throttle") return answer.kind;
  return answer.failure === "provider" ? answer.reason : "process";
}

/** What the service does with one request says nothing of it: that it is too long, or that it is refused. */
const ofTheRequest: ReadonlySet<TryReason> = new Set([
  "context_length",
  "bad_request",
  "content_filter",
  "refusal",
  "truncated",
]);

export function serviceState(answer: ModelResponse | ModelFailure, reason: TryReason | undefined): ServiceState {
  if (reason === undefined || ofTheRequest.has(reason)) return { state: "well" };
  if (answer.failure !== "throttle") return { state: "failed", kind: "unknown" };
  return { state: "failed", kind: answer.kind, retryAfterMs: answer.retryAfterMs };
}
