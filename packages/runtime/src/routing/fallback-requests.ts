// 1. A request that one adapter fails goes to the next at once, inside the same turn: no tool is repeated.
// 2. Each try's cost is counted once: with the answer, with the last refusal, or with the end of an aborted evaluation.
// 3. Nothing of an evaluation is kept here beyond its end; what is learnt of an adapter is shared by all.
import {
  DefinitionError,
  type ModelFailure,
  type ModelRequest,
  type ModelResponse,
  type Prompt,
  type RouteStep,
  type Usage,
} from "@proviso/core";
import { describeValue, messageOf } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import type { Failure } from "../failures.ts";
import { isChainProvider } from "../request/chain.ts";
import type { Run } from "../run.ts";
import { liveClock } from "./live-clock.ts";
import { mayRepeat } from "./begin-again.ts";
import type { AnsweredBy, Attempts, Next } from "../attempts.ts";
import { inputOf, skippedStep, sumOfCosts, tryMember, whyNot, type Member } from "./member.ts";
import type { RouteCandidate, RouteOrder } from "./orders.ts";
import { reasonOfFailure, type GoesOn } from "./reasons.ts";
import { naming, refusalOf, type Refusal } from "./refusal.ts";
import type { Generate } from "./together.ts";

/** What the options say. */
export interface Rules {
  readonly goesOn: GoesOn;
  readonly order: RouteOrder | undefined;
  readonly repeatTools: boolean;
  /** Whether an output that does not parse goes on. */
  readonly isPerOutput: boolean;
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
  /** Why some could not take the request. */
  readonly unable: readonly string[];
  readonly queuedMs: number;
}

function whole(
  answer: ModelResponse | ModelFailure,
  { trying, route, unable, queuedMs }: Tries,
): ModelResponse | ModelFailure {
  // A usage that is in part an estimate says so.
  const usage = trying.cost;
  trying.cost = undefined;
  if (answer.failure !== undefined) return naming({ ...answer, usage, route }, unable);
  const model = answer.model ?? route.at(-1)?.model;
  return { ...answer, usage, model, route, queuedMs };
}

/** The requests of one evaluation. */
export class Fallback implements Generate, Attempts {
  readonly #run: Run;
  readonly #members: readonly Member[];
  readonly #rules: Rules;
  /** Adapters whose attempt has failed. */
  readonly #failed = new Set<Member>();
  #ordered: readonly Member[] | undefined;
  /** The adapter that answered last. */
  #current: Member | undefined;
  /** What the attempt began with, by the record; undefined: by the order. */
  #next: Next | undefined;
  /** The request under way; one that was aborted may still be going on behind it. */
  #trying: Trying = {};

  constructor(run: Run, members: readonly Member[], rules: Rules) {
    this.#run = run;
    this.#members = members;
    this.#rules = rules;
  }

  hasMore(): boolean {
    const left = this.#left();
    const models = left.filter(({ asked }) => asked.drive === undefined).length;
    return left.length - models + (this.#rules.isPerOutput ? models : Math.min(1, models)) > 1;
  }

  goOn(why: Failure, mayRepeat: () => boolean, answered?: AnsweredBy): Next | undefined {
    this.#current ??= this.#left().find(({ asked }) => asked.provider.name === answered?.provider);
    const reason = reasonOfFailure(why);
    if (!mayRepeat() || !this.#rules.goesOn(reason, why.stop === "throttled")) return undefined;
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

  wentOn(why: Failure, next: Next, answered: AnsweredBy): void {
    this.goOn(why, () => true, answered);
    this.#next = next;
  }

  /** The one with which this attempt begins. */
  async first(): Promise<Member> {
    const run = this.#run;
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
    const run = this.#run;
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

  triesCost(): Usage | undefined {
    const { asking, cost } = this.#trying;
    const inside = asking?.asked.providerFor(this.#run);
    return sumOfCosts(cost, inside && isChainProvider(inside) ? inside.triesCost() : undefined);
  }

  async generate(request: ModelRequest): Promise<ModelResponse | ModelFailure> {
    const run = this.#run;
    const trying: Trying = (this.#trying = {});
    // An evaluation without an order makes no promise more.
    this.#ordered ??= this.#rules.order === undefined ? this.#members : await this.#begin(request);
    const route = this.#agentsSkipped();
    const unable = route.flatMap(({ why }) => why ?? []);
    const refusals: Refusal[] = [];
    let queuedMs = 0;
    for (const member of this.#models()) {
      const provider = member.asked.providerFor(run);
      const cannot = whyNot(run, member.asked.provider, request.messages);
      if (cannot !== undefined) unable.push(cannot);
      const why = cannot ?? this.#whyPassedOver(member, refusals);
      if (why !== undefined) {
        route.push(skippedStep(provider, why));
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
      if (!this.#rules.goesOn(tried.reason, tried.answer.failure === "throttle")) {
        if (tried.reason === undefined) this.#current = member;
        return whole(tried.answer, { trying, route, unable, queuedMs });
      }
      refusals.push({ name: provider.name, answer: tried.answer });
      if (request.signal.aborted) break;
      if (isShown) onDelta?.({ kind: "reset" });
      run.log("warn", { turn: run.turn, provider: provider.name, reason: tried.reason }, "prompt.fallback");
    }
    const refusal = refusalOf(refusals);
    // No evaluation waits while an agent can be asked.
    const isLeft =
      this.#left().some(({ asked }) => asked.drive !== undefined) && mayRepeat(run, this.#rules.repeatTools);
    const last = isLeft && refusal.failure === "throttle" ? ({ ...refusal, retry: false } as const) : refusal;
    return whole(last, { trying, route, unable, queuedMs });
  }

  /** The agents that cannot take the evaluation: they are not asked after the models. */
  #agentsSkipped(): RouteStep[] {
    const run = this.#run;
    return this.#members.flatMap(({ asked: { drive, provider } }) => {
      const why = drive === undefined ? undefined : whyNot(run, provider, run.history.messages());
      return why === undefined ? [] : [skippedStep(provider, why)];
    });
  }

  /** Why an adapter that has failed too often of late is passed over; undefined: it may be asked. */
  #whyPassedOver({ asked, breaker }: Member, refusals: Refusal[]): string | undefined {
    const { name } = asked.provider;
    const now = liveClock(this.#run).now();
    if (breaker === undefined || breaker.mayAsk(now)) return undefined;
    const waitMs = breaker.waitMs(now);
    const retryAfterMs = waitMs === 0 ? undefined : Math.ceil(waitMs);
    const message = `${name} was not asked: it failed too often of late, or asked to wait.`;
    refusals.push({ name, answer: { failure: "throttle", kind: breaker.kind, retryAfterMs, message } });
    return message;
  }

  /** The one that answered last, then the others. */
  #models(): readonly Member[] {
    const models = this.#left().filter(({ asked }) => asked.drive === undefined);
    const current = this.#current;
    return current === undefined ? models : [current, ...models.filter((member) => member !== current)];
  }

  async #begin(request: ModelRequest): Promise<readonly Member[]> {
    const members = this.#members;
    const { order } = this.#rules;
    if (order === undefined) return members;
    const candidates = await Promise.all(members.map((member) => this.#candidate(member, request)));
    const wanted = new Set(inOrder(order, candidates, this.#run.prompt).map(({ index }) => members[index]));
    const ordered = [...wanted].filter((member) => member !== undefined);
    return ordered.length === 0 ? members : ordered;
  }

  async #candidate({ index, asked, breaker, past }: Member, request: ModelRequest): Promise<RouteCandidate> {
    const clock = liveClock(this.#run);
    const { name, model } = asked.provider;
    const pricing = asked.prices.current() ?? (await asked.prices.load());
    const tokens = { inputTokens: inputOf(this.#run, request), outputTokens: expectedOutput(this.#run) };
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
