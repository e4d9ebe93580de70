import type { Message, ModelProvider, ReportedUsage, RouteStep, Usage } from "@proviso/core";
import { addUsage } from "@proviso/core/internal";
import { refusedSetting } from "../evaluate-options.ts";
import type { ChainMember } from "../request/chain.ts";
import { dollarsFor } from "../prices.ts";
import type { Run } from "../run.ts";
import { liveClock } from "./live-clock.ts";
import type { Breaker } from "./breaker.ts";
import { PastRequests } from "./past-requests.ts";
import type { Throttle } from "./refusal.ts";

/** One adapter of a chain, and how it has done so far. */
export class Member {
  readonly index: number;
  readonly asked: ChainMember;
  /** undefined: it is always asked. */
  readonly breaker: Breaker | undefined;
  readonly past = new PastRequests();

  constructor(index: number, asked: ChainMember, breaker: Breaker | undefined) {
    this.index = index;
    this.asked = asked;
    this.breaker = breaker;
  }
}

/** Why an adapter cannot take the settings of an evaluation, or the files of its messages; undefined: it can. */
export function whyNot(run: Run, provider: ModelProvider, messages: readonly Message[]): string | undefined {
  return (refusedSetting(provider, run.settings) ?? run.files?.refuses(messages, provider))?.message;
}

/** Refuses an adapter that has failed too often of late; undefined: it may be asked. */
export function refusalOfBreaker({ asked, breaker }: Member, run: Run): Throttle | undefined {
  const now = liveClock(run).now();
  if (breaker === undefined || breaker.mayAsk(now)) return undefined;
  const waitMs = breaker.waitMs(now);
  const retryAfterMs = waitMs === 0 ? undefined : Math.ceil(waitMs);
  const message = `${asked.provider.name} was not asked: it failed too often of late, or asked to wait.`;
  return { failure: "throttle", kind: breaker.kind, retryAfterMs, message };
}

/** The step of an adapter that is not asked. */
export function skippedStep({ name, model }: ModelProvider, why: string): RouteStep {
  return { provider: name, model, outcome: "skipped", why, durationMs: 0 };
}

/** The usage with its cost in dollars, where that is known by now. */
export function atPrice(run: Run, prices: ChainMember["prices"], usage: Usage): Usage {
  const costUsd = usage.costUsd ?? dollarsFor(prices, usage, liveClock(run));
  return costUsd === undefined ? usage : { ...usage, costUsd };
}

/** A usage as a provider reports it. */
export function reported(usage: Usage): ReportedUsage {
  const { estimated: _, ...given } = usage;
  return given;
}

/** The sum, where either may be nothing. */
export function sumOfCosts(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  return a === undefined || b === undefined ? (a ?? b) : addUsage(a, b);
}
