// 1. An evaluation stays with the adapter that has answered last.
// 2. Nothing of an evaluation is kept here beyond its end; what is learnt of an adapter is shared by all.
import { DefinitionError, type ModelRequest, type Prompt, type RouteStep } from "@proviso/core";
import { describeValue, messageOf } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import type { AnsweredBy, Attempts, Next } from "../attempts.ts";
import type { Failure } from "../failures.ts";
import type { ChainRequest } from "../request/chain.ts";
import { inputOf } from "../request/limited-work.ts";
import type { RoomForTries } from "../request/tries-room.ts";
import type { Run } from "../run.ts";
import { mayRepeat } from "./begin-again.ts";
import { FallbackTries, type FallbackPlan } from "./fallback-tries.ts";
import { liveClock } from "./live-clock.ts";
import { skippedStep, whyNot, type Member } from "./member.ts";
import type { RouteCandidate, RouteOrder } from "./orders.ts";
import { reasonOfFailure, type AsksNext } from "./reasons.ts";
import type { Ask } from "./together.ts";
import type { Tried } from "./tried.ts";

/** What the options say. */
export interface Rules {
  readonly asksNext: AsksNext;
  readonly order: RouteOrder | undefined;
  readonly repeatTools: boolean;
  /** Whether an output that does not parse goes on. */
  readonly isPerOutput: boolean;
}

/** The requests of one evaluation. */
export class Fallback implements Ask, Attempts, FallbackPlan {
  readonly run: Run;
  readonly #members: readonly Member[];
  readonly #rules: Rules;
  /** Adapters whose attempt has failed. */
  readonly #failed = new Set<Member>();
  #ordered: readonly Member[] | undefined;
  /** The adapter that answered last. */
  #current: Member | undefined;
  /** What the attempt began with, by the record; undefined: by the order. */
  #next: Next | undefined;

  constructor(run: Run, members: readonly Member[], rules: Rules) {
    this.run = run;
    this.#members = members;
    this.#rules = rules;
  }

  hasMore(): boolean {
    const left = this.#left();
    const models = left.filter(({ asked }) => asked.drive === undefined).length;
    return left.length - models + (this.#rules.isPerOutput ? models : Math.min(1, models)) > 1;
  }

  nextAfter(why: Failure, mayRepeat: () => boolean, answered?: AnsweredBy): Next | undefined {
    this.#current ??= this.#left().find(({ asked }) => asked.provider.name === answered?.provider);
    const reason = reasonOfFailure(why);
    if (!mayRepeat() || !this.#rules.asksNext(reason, why.stop === "throttled")) return undefined;
    const [first] = this.#left();
    const isAgent = first?.asked.drive !== undefined;
    for (const member of this.#left()) {
      // All models were asked for a request that failed; an output is that of the one that answered.
      const hasFailed = isAgent
        ? member === first
        : member.asked.drive === undefined && (reason !== "output" || member === (this.#current ?? first));
      if (hasFailed) this.#failed.add(member);
    }
    this.#current = undefined;
    const [next] = this.#left();
    return next && { provider: next.asked.provider.name, model: next.asked.provider.model };
  }

  takeRecorded(why: Failure, next: Next, answered: AnsweredBy): void {
    this.nextAfter(why, () => true, answered);
    this.#next = next;
  }

  /** The one with which this attempt begins. */
  async first(): Promise<Member> {
    const run = this.run;
    const { settings, limits } = run;
    this.#ordered ??= await this.#begin({
      messages: run.history.request(),
      tools: [],
      toolChoice: undefined,
      output: undefined,
      settings,
      signal: limits.signal,
    });
    return (this.#left()[0] ?? this.#members[0]) as Member;
  }

  /** Returns the adapters that may be asked yet, in their order; an agent that cannot take the settings or the files is passed over. */
  #left(): readonly Member[] {
    const run = this.run;
    const next = this.#next;
    const isNext = ({ asked: { provider } }: Member): number =>
      provider.name === next?.provider && provider.model === next.model ? 0 : 1;
    const all = this.#ordered ?? this.#members;
    const ordered = next === undefined ? all : all.toSorted((a, b) => isNext(a) - isNext(b));
    return ordered.filter((member) => {
      const { drive, provider } = member.asked;
      return (
        !this.#failed.has(member) &&
        (drive === undefined || whyNot(run, provider, run.history.messages()) === undefined)
      );
    });
  }

  ask(request: ModelRequest, room: RoomForTries): ChainRequest {
    return new FallbackTries(this, request, room);
  }

  async order(request: ModelRequest): Promise<void> {
    this.#ordered ??= await this.#begin(request);
  }

  get isOrdered(): boolean {
    return this.#ordered !== undefined || this.#rules.order === undefined;
  }

  asksNext({ reason, answer }: Tried): boolean {
    return this.#rules.asksNext(reason, answer.failure === "throttle");
  }

  answeredBy(member: Member): void {
    this.#current = member;
  }

  /** No evaluation waits while an agent can be asked. */
  agentIsNext(): boolean {
    return this.#left().some(({ asked }) => asked.drive !== undefined) && mayRepeat(this.run, this.#rules.repeatTools);
  }

  /** The agents that cannot take the evaluation: they are not asked after the models. */
  agentsSkipped(): RouteStep[] {
    const run = this.run;
    return this.#members.flatMap(({ asked: { drive, provider } }) => {
      const why = drive === undefined ? undefined : whyNot(run, provider, run.history.messages());
      return why === undefined ? [] : [skippedStep(provider, why)];
    });
  }

  /** The one that answered last, then the others. */
  models(): readonly Member[] {
    const models = this.#left().filter(({ asked }) => asked.drive === undefined);
    const current = this.#current;
    return current === undefined ? models : [current, ...models.filter((member) => member !== current)];
  }

  async #begin(request: ModelRequest): Promise<readonly Member[]> {
    const members = this.#members;
    const { order } = this.#rules;
    if (order === undefined) return members;
    const candidates = await Promise.all(members.map((member) => this.#candidate(member, request)));
    const wanted = new Set(inOrder(order, candidates, this.run.prompt).map(({ index }) => members[index]));
    const ordered = [...wanted].filter((member) => member !== undefined);
    return ordered.length === 0 ? members : ordered;
  }

  async #candidate({ index, asked, breaker, past }: Member, request: ModelRequest): Promise<RouteCandidate> {
    const clock = liveClock(this.run);
    const { name, model } = asked.provider;
    const pricing = asked.prices.current() ?? (await asked.prices.load());
    const tokens = { inputTokens: inputOf(this.run, request), outputTokens: expectedOutput(this.run) };
    return {
      index,
      provider: name,
      model,
      open: breaker?.mayAsk(clock.now()) === false,
      p50Ms: past.percentile(50),
      p95Ms: past.percentile(95),
      failureShare: past.failureShare,
      costUsd: pricing.known ? pricing.priceOf(tokens, clock.now()) : undefined,
    };
  }
}

/** @throws {DefinitionError} for an order that throws, or returns no list of candidates. */
function inOrder(order: RouteOrder, candidates: readonly RouteCandidate[], prompt: Prompt): readonly RouteCandidate[] {
  let ordered: unknown;
  try {
    ordered = order(candidates, prompt);
  } catch (cause) {
    throw new DefinitionError(`fallback: the option order threw: ${messageOf(cause)}`, { cause });
  }
  // A copy of a candidate stands for it.
  const isOne = (one: unknown): boolean => isRecord(one) && candidates.some(({ index }) => index === one["index"]);
  const foreign = Array.isArray(ordered) ? Array.from(ordered).findIndex((one) => !isOne(one)) : undefined;
  if (foreign === -1) return ordered as readonly RouteCandidate[];
  const why =
    foreign === undefined
      ? `, not ${describeValue(ordered)}`
      : `, and item ${foreign} of what it returned is ${describeValue((ordered as readonly unknown[])[foreign])}`;
  throw new DefinitionError(`fallback: order must return a list of its candidates${why}.`);
}

/** Tokens of an answer whose length is not known. */
const usualOutput = 500;

function expectedOutput({ expected, settings }: Run): number {
  return expected?.outputTokensPerTurn.p90 ?? settings.maxOutputTokens ?? usualOutput;
}
