// 1. A request that one adapter fails goes to the next at once, inside the same turn: no tool is repeated.
// 2. Each try's cost is counted once: with the answer, with the last refusal, or with the end of an aborted evaluation.
// 3. Nothing of an evaluation is kept here beyond its end; what is learnt of an adapter is shared by all.
import {
  DefinitionError,
  type ModelFailure,
  type ModelRequest,
  type ModelResponse,
  type ProviderAdapter,
  type RouteStep,
  type Usage,
} from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames, isRecord } from "@proviso/core/provider";
import type { Environment } from "../environment.ts";
import { isChainProvider } from "../request/chain.ts";
import { refusedSetting } from "../request/settings.ts";
import type { Run } from "../run.ts";
import { Breaker, type BreakerOptions } from "./breaker.ts";
import { inputOf, Member, sumOfCosts, tryMember } from "./member.ts";
import type { RouteCandidate, RouteOrder } from "./orders.ts";
import { checkReasons, goingOn, type FallbackReason, type GoesOn } from "./reasons.ts";
import { refusalOf, type Refusal } from "./refusal.ts";
import { adapterOf, checkMembers, type Generate } from "./together.ts";

/** How a chain goes on from one adapter to the next. */
export interface FallbackOptions {
  /**
   * Why a request goes on. Default: every throttle kind, "not_found", "context_length" and "invalid_response".
   */
  readonly on?: readonly FallbackReason[] | undefined;
  /**
   * false: every adapter is always asked. Default: 5 failures in a row open it for 30,000 ms, and a Retry-After for as
   * long as it says; then one request tries.
   */
  readonly breaker?: false | BreakerOptions | undefined;
  /** Asked once an evaluation, before its first request. Default: as given. */
  readonly order?: RouteOrder | undefined;
}

const optionNames = {
  on: true,
  breaker: true,
  order: true,
  clock: true,
  random: true,
  newId: true,
  logger: true,
  secrets: true,
} as const;

/**
 * One adapter made of several. A request that one of them fails goes to the next at once, within the same turn: no tool
 * is repeated, the history stays, and an evaluation stays where it went. When all refuse, the first adapter's throttle
 * policy waits for the one that may be asked again first.
 * @throws {DefinitionError} for an empty list, for an adapter that modelAdapter did not make, and for one that is in the
 * chain twice.
 */
export function fallback(
  adapters: readonly ProviderAdapter[],
  options: FallbackOptions & Environment = {},
): ProviderAdapter {
  checkOptionNames("fallback", options, optionNames);
  const { on, breaker, order, ...environment } = options;
  const asked = checkMembers("fallback", adapters);
  checkReasons(on);
  checkBreaker(breaker);
  if (order !== undefined && typeof order !== "function") {
    throw new DefinitionError(`fallback: order must be a function, not ${describeValue(order)}.`);
  }
  const members = asked.map((one, index) => new Member(index, one, newBreaker(breaker)));
  const goesOn = goingOn(on);
  const atOnce = Math.max(...asked.map((one) => one.atOnce));
  return adapterOf("fallback", { adapters, members: asked, atOnce }, environment, (run) => {
    return new Fallback(run, members, goesOn, order);
  });
}

function checkBreaker(breaker: unknown): void {
  if (breaker === undefined || breaker === false) return;
  if (!isRecord(breaker)) {
    throw new DefinitionError(`fallback: breaker must be false or an object, not ${describeValue(breaker)}.`);
  }
  checkOptionNames("The option breaker", breaker, { failures: true, openMs: true });
  const { failures = 1, openMs = 1 } = breaker;
  if (!Number.isSafeInteger(failures) || (failures as number) < 1) {
    throw new DefinitionError(`breaker.failures must be a whole number from 1, not ${describeValue(failures)}.`);
  }
  if (!(typeof openMs === "number" && openMs > 0 && Number.isFinite(openMs))) {
    throw new DefinitionError(`breaker.openMs must be a positive number, not ${describeValue(openMs)}.`);
  }
}

function newBreaker(options: false | BreakerOptions | undefined): Breaker | undefined {
  return options === false ? undefined : new Breaker(options ?? {});
}

/** How far a request is. */
interface Trying {
  asking?: Member | undefined;
  /** What the tries that are over have cost; undefined: nothing, or the answer has it. */
  cost?: Usage | undefined;
}

interface Tries {
  readonly trying: Trying;
  readonly route: readonly RouteStep[];
  readonly queuedMs: number;
}

function whole(answer: ModelResponse | ModelFailure, { trying, route, queuedMs }: Tries): ModelResponse | ModelFailure {
  // A usage that is in part an estimate says so.
  const usage = trying.cost;
  trying.cost = undefined;
  if (answer.failure !== undefined) return { ...answer, usage, route };
  const model = answer.model ?? route.at(-1)?.model;
  return { ...answer, usage, model, route, queuedMs };
}

/** The requests of one evaluation. */
class Fallback implements Generate {
  readonly #run: Run;
  readonly #members: readonly Member[];
  readonly #goesOn: GoesOn;
  readonly #order: RouteOrder | undefined;
  #ordered: readonly Member[] | undefined;
  /** The adapter that answered last. */
  #current: Member | undefined;
  /** The request under way; one that was aborted may still be going on behind it. */
  #trying: Trying = {};

  constructor(run: Run, members: readonly Member[], goesOn: GoesOn, order: RouteOrder | undefined) {
    this.#run = run;
    this.#members = members;
    this.#goesOn = goesOn;
    this.#order = order;
  }

  triesCost(): Usage | undefined {
    const { asking, cost } = this.#trying;
    const inside = asking?.asked.providerFor(this.#run);
    return sumOfCosts(cost, inside && isChainProvider(inside) ? inside.triesCost() : undefined);
  }

  async generate(request: ModelRequest): Promise<ModelResponse | ModelFailure> {
    const run = this.#run;
    const trying: Trying = (this.#trying = {});
    this.#ordered ??= await this.#begin(request);
    const route: RouteStep[] = [];
    const refusals: Refusal[] = [];
    let queuedMs = 0;
    for (const member of this.#inOrder(this.#ordered)) {
      const provider = member.asked.providerFor(run);
      const skipped = this.#whySkipped(member, refusals);
      if (skipped) {
        route.push({ provider: provider.name, model: provider.model, outcome: "skipped", durationMs: 0 });
        continue;
      }
      let isShown = false;
      let isOver = false;
      const { onDelta } = request;
      const take: typeof onDelta = (delta) => {
        if (isOver) return;
        isShown = delta.kind !== "reset";
        onDelta?.(delta);
      };
      trying.asking = member;
      const tried = await tryMember(member, { run, provider, request, onDelta: onDelta && take });
      isOver = true;
      trying.asking = undefined;
      trying.cost = sumOfCosts(trying.cost, tried.cost);
      route.push(...tried.steps);
      queuedMs += tried.queuedMs;
      if (!this.#goesOn(tried)) {
        if (tried.reason === undefined) this.#current = member;
        return whole(tried.answer, { trying, route, queuedMs });
      }
      refusals.push({ name: provider.name, answer: tried.answer });
      if (request.signal.aborted) break;
      if (isShown) onDelta?.({ kind: "reset" });
      run.log("warn", { turn: run.turn, provider: provider.name, reason: tried.reason }, "prompt.fallback");
    }
    return whole(refusalOf(refusals), { trying, route, queuedMs });
  }

  /** An adapter that cannot take the request is passed over, and one that failed too often of late. */
  #whySkipped({ asked, breaker }: Member, refusals: Refusal[]): boolean {
    const { provider } = asked;
    const { name } = provider;
    if (refusedSetting(provider, this.#run.settings) !== undefined) return true;
    const now = this.#run.world.clock.now();
    if (breaker === undefined || breaker.mayAsk(now)) return false;
    const waitMs = breaker.waitMs(now);
    const retryAfterMs = waitMs === 0 ? undefined : Math.ceil(waitMs);
    const message = `${name} was not asked: it failed too often of late, or asked to wait.`;
    refusals.push({ name, answer: { failure: "throttle", kind: breaker.kind, retryAfterMs, message } });
    return true;
  }

  /** The one that answered last, then the others. */
  #inOrder(ordered: readonly Member[]): readonly Member[] {
    const current = this.#current;
    return current === undefined ? ordered : [current, ...ordered.filter((member) => member !== current)];
  }

  async #begin(request: ModelRequest): Promise<readonly Member[]> {
    const members = this.#members;
    if (this.#order === undefined) return members;
    const candidates = await Promise.all(members.map((member) => this.#candidate(member, request)));
    const wanted = new Set(this.#order(candidates, this.#run.prompt).map(({ index }) => members[index]));
    const ordered = [...wanted].filter((member) => member !== undefined);
    return ordered.length === 0 ? members : ordered;
  }

  async #candidate({ index, asked, breaker, record }: Member, request: ModelRequest): Promise<RouteCandidate> {
    const { clock } = this.#run.world;
    const { name, model } = asked.provider;
    const pricing = asked.prices.current() ?? (await asked.prices.load());
    const tokens = { inputTokens: inputOf(this.#run, request), outputTokens: expectedOutput(this.#run) };
    return {
      index,
      provider: name,
      model,
      open: breaker?.mayAsk(clock.now()) === false,
      p50Ms: record.percentile(50),
      p95Ms: record.percentile(95),
      failureShare: record.failureShare,
      costUsd: pricing.known ? pricing.priceOf(tokens, clock.now()) : undefined,
    };
  }
}

/** Tokens of an answer whose length is not known. */
const usualOutput = 500;

function expectedOutput({ expected, settings }: Run): number {
  return expected?.outputTokensPerTurn.p90 ?? settings.maxOutputTokens ?? usualOutput;
}
