import { DefinitionError, type ModelResponse, type ProviderAdapter } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import { elapsedMs, environmentNames, type Environment } from "../environment.ts";
import { checkIsObject } from "../evaluate-options.ts";
import { isFailure, type Failure } from "../failures.ts";
import { runInnerLoop } from "../inner-loop.ts";
import { internalsOf } from "../nested/adapter-internals.ts";
import type { ChainMember } from "../request/chain.ts";
import type { Run } from "../run.ts";
import { beginAgain } from "./begin-again.ts";
import { checkBreaker, newBreaker, type BreakerOptions } from "./breaker.ts";
import { Fallback, type Rules } from "./fallback-requests.ts";
import { Member } from "./member.ts";
import type { RouteOrder } from "./orders.ts";
import { checkReasons, asksNextAfter, type FallbackReason } from "./reasons.ts";
import { adapterOf, checkMembers, keptByRun } from "./together.ts";

/** How a chain goes on from one adapter to the next. */
export interface FallbackOptions {
  /**
   * Why a request goes on. Default: every throttle kind, "not_found", "context_length" and "invalid_response".
   */
  readonly on?: readonly FallbackReason[] | undefined;
  /**
   * false: every adapter is always asked. Default: 5 failures in a row open it for 30,000 ms, and a Retry-After for as
   * long as it says, an hour at most; then one request tries.
   */
  readonly breaker?: false | BreakerOptions | undefined;
  /** Asked once an evaluation, before its first request. Default: as given. */
  readonly order?: RouteOrder | undefined;
  /**
   * Whether an evaluation may begin again (an agent that failed, an output that did not parse) after a tool succeeded that
   * is neither `readOnly` nor `idempotent`: its changes here are undone, those elsewhere are not. Default false.
   */
  readonly repeatTools?: boolean | undefined;
}

const optionNames = {
  on: true,
  breaker: true,
  order: true,
  repeatTools: true,
  ...environmentNames,
} as const;

/**
 * One adapter made of several. A request that one of them fails goes to the next at once, within the same turn: no tool
 * is repeated, the history stays, and an evaluation stays where it went. When all refuse, the first adapter's throttle
 * policy waits for the one that may be asked again first. What only a whole evaluation shows, an agent that failed, or an
 * output that did not parse where `on` has "output", begins again with the next after all that it did here is undone.
 * @throws {DefinitionError} for an empty list, for an adapter that neither modelAdapter nor agentAdapter made, and for one
 * that is in the chain twice.
 */
export function fallback(
  adapters: readonly ProviderAdapter[],
  options: FallbackOptions & Environment = {},
): ProviderAdapter {
  const asked = checkMembers("fallback", adapters, { agents: true });
  checkIsObject("fallback", options);
  checkOptionNames("fallback", options, optionNames);
  const { on, breaker, order, repeatTools = false, ...environment } = options;
  checkReasons(on);
  checkBreaker(breaker);
  if (order !== undefined && typeof order !== "function") {
    throw new DefinitionError(`fallback: order must be a function, not ${describeValue(order)}.`);
  }
  const members = asked.map((one, index) => new Member(index, one, newBreaker(breaker)));
  if (typeof repeatTools !== "boolean") {
    throw new DefinitionError(`fallback: repeatTools must be true or false, not ${describeValue(repeatTools)}.`);
  }
  const rules: Rules = {
    asksNext: asksNextAfter(on),
    order,
    repeatTools,
    isPerOutput: on?.includes("output") === true,
  };
  const hasAgents = asked.some(({ drive }) => drive !== undefined);
  const of = keptByRun((run) => new Fallback(run, members, rules));
  const made: ProviderAdapter = adapterOf(
    "fallback",
    {
      adapters,
      members: asked,
      atOnce: Math.max(...asked.map((one) => one.atOnce)),
      drive: hasAgents ? (run) => driveFirst(run, of(run), internalsOf(made)?.asked) : undefined,
      beginAgain:
        hasAgents || rules.isPerOutput ? (run, once) => beginAgain(run, of(run), repeatTools, once) : undefined,
    },
    environment,
    of,
  );
  return made;
}

/** Asks the agent that comes first, or all models. */
async function driveFirst(
  run: Run,
  attempts: Fallback,
  asked: ChainMember | undefined,
): Promise<ModelResponse | Failure> {
  const first = await attempts.first();
  const { drive, prices, provider } = first.asked;
  if (drive === undefined) return runInnerLoop(asked?.providerFor(run) ?? provider, run);
  const [startedAt, before] = [run.world.clock.now(), run.prices];
  run.prices = prices;
  const answer = await drive(run).finally(() => void (run.prices = before));
  if (isFailure(answer)) return answer;
  const { name, model } = provider;
  const durationMs = elapsedMs(run.world.clock, startedAt);
  return { ...answer, route: [{ provider: name, model: answer.model ?? model, outcome: "answered", durationMs }] };
}
