// 1. The first answer wins, or the first delta where the answer is streamed; all others are aborted in the same moment.
// 2. Who lost is not waited for. What it has cost is an estimate: what was sent, and what had arrived of its answer.
// 3. Only what the winner streams is shown.
import type { ModelFailure, ModelProvider, ModelRequest, ModelResponse, RouteStep, Usage } from "@proviso/core";
import { addUsage, countUsage } from "@proviso/core/internal";
import type { ModelDelta } from "@proviso/core/provider";
import { onAbort } from "../abort.ts";
import { elapsedMs } from "../environment.ts";
import { isChainProvider } from "../request/chain.ts";
import { thrown } from "../request/model-answer.ts";
import type { Run } from "../run.ts";
import { liveClock } from "./live-clock.ts";
import { textOf } from "../streaming/deltas.ts";
import { estimatedTokens } from "../tokens.ts";
import { atPrice, inputOf, reported, sumOfCosts, tryMember, type Member, type Tried } from "./member.ts";
import { goingOn } from "./reasons.ts";
import { naming, refusalOf, type Refusal } from "./refusal.ts";

/** Milliseconds without an answer of this adapter until the next is asked, too; undefined: it is not asked. */
export type AfterMs = (last: Member) => number | undefined;

const goesOn = goingOn();

/** One adapter that is asked, until it has ended or lost. */
class Try {
  readonly member: Member;
  readonly provider: ModelProvider;
  readonly startedAt: number;
  readonly #controller = new AbortController();
  readonly #stopListening: () => void;
  isSent = false;
  /** Whether another one has won. */
  isOut = false;
  streamed = "";
  steps: readonly RouteStep[] = [];

  constructor(member: Member, run: Run, signal: AbortSignal) {
    this.member = member;
    this.provider = member.asked.providerFor(run);
    this.startedAt = liveClock(run).now();
    this.#stopListening = onAbort(signal, (reason) => this.#controller.abort(reason));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  takes(delta: ModelDelta): void {
    this.streamed = delta.kind === "reset" ? "" : this.streamed + textOf(delta);
  }

  ends(): void {
    this.#stopListening();
  }

  loses(): void {
    this.isOut = true;
    this.#stopListening();
    this.#controller.abort(new DOMException("Another model answered first.", "AbortError"));
  }
}

interface Ended {
  readonly one: Try;
  /** undefined: it was aborted before it was sent, or could not be asked at all. */
  readonly tried: Tried | undefined;
  /** What it rejected with, where `tried` is undefined. */
  readonly cause?: unknown;
}

/** A try that was sent and has lost. */
interface Loser {
  readonly one: Try;
  readonly step: RouteStep;
  /** What the tries of a chain inside have cost. */
  readonly inside: Usage | undefined;
  /** The tokens alone, because the price may not be there yet. */
  readonly estimate: Usage;
}

/** One request, to one adapter after another or to several at once. */
export class HedgedRequest {
  readonly #run: Run;
  readonly #members: readonly Member[];
  readonly #afterMs: AfterMs;
  readonly #request: ModelRequest;
  readonly #tries: Try[] = [];
  readonly #running = new Map<Try, Promise<Ended>>();
  readonly #failed = new Set<Member>();
  /** The one that streams. */
  #winner: Try | undefined;
  #isShown = false;
  /** What the tries that have ended have cost. */
  #ended: Usage | undefined;
  readonly #losers: Loser[] = [];

  constructor(run: Run, members: readonly Member[], afterMs: AfterMs, request: ModelRequest) {
    this.#run = run;
    this.#members = members;
    this.#afterMs = afterMs;
    this.#request = request;
  }

  /** What the tries that are over have cost, and those that have lost. */
  cost(): Usage | undefined {
    const inside = [...this.#running.keys()].map(({ provider }) => costInside(provider));
    const lost = this.#losers.map((loser) => this.#costOf(loser));
    return [...inside, ...lost].reduce(sumOfCosts, this.#ended);
  }

  async answer(skipped: readonly RouteStep[]): Promise<ModelResponse | ModelFailure> {
    const refusals: Refusal[] = [];
    let queuedMs = 0;
    for (;;) {
      if (this.#running.size === 0 && !this.#askNext()) return this.#whole(refusalOf(refusals), skipped, queuedMs);
      const ended = await this.#nextEnd();
      // A try that has lost ends, too, when its service notices the abort.
      if (ended === undefined || ended.one.isOut) continue;
      const { one, tried } = ended;
      this.#running.delete(one);
      one.ends();
      if (tried === undefined) {
        this.#request.signal.throwIfAborted();
        this.#othersLose(one);
        return this.#whole(thrown(ended.cause), skipped, queuedMs);
      }
      one.steps = tried.steps;
      queuedMs = tried.queuedMs;
      this.#ended = sumOfCosts(this.#ended, tried.cost);
      if (!goesOn(tried.reason, tried.answer.failure === "throttle")) {
        this.#othersLose(one);
        return this.#whole(tried.answer, skipped, queuedMs);
      }
      this.#failed.add(one.member);
      refusals.push({ name: one.provider.name, answer: tried.answer });
      if (this.#winner === one) this.#takeBack();
      if (this.#request.signal.aborted) return this.#whole(refusalOf(refusals), skipped, queuedMs);
    }
  }

  /** false: all were asked. */
  #askNext(): boolean {
    const member = this.#next();
    if (member === undefined) return false;
    const run = this.#run;
    const one = new Try(member, run, this.#request.signal);
    this.#tries.push(one);
    const { onDelta } = this.#request;
    const asking = {
      run,
      provider: one.provider,
      request: { ...this.#request, signal: one.signal },
      onDelta: onDelta && ((delta: ModelDelta) => this.#take(one, delta, onDelta)),
      onSent: () => void (one.isSent = true),
    };
    this.#running.set(
      one,
      tryMember(member, asking).then(
        (tried): Ended => ({ one, tried }),
        (cause: unknown): Ended => ({ one, tried: undefined, cause }),
      ),
    );
    return true;
  }

  #next(): Member | undefined {
    const asked = new Set([...this.#running.keys()].map(({ member }) => member));
    return this.#members.find((member) => !this.#failed.has(member) && !asked.has(member));
  }

  /** Resolves when a try is over; asks the next adapter where that takes long, and resolves with nothing then. */
  async #nextEnd(): Promise<Ended | undefined> {
    const ends = [...this.#running.values()];
    const mayAsk = this.#winner === undefined && !this.#request.signal.aborted;
    const waitMs = mayAsk && this.#next() !== undefined ? this.#waitMs() : undefined;
    if (waitMs === undefined) return Promise.race(ends);
    const timer = new AbortController();
    const sleeping = liveClock(this.#run)
      .sleep(waitMs, timer.signal)
      .then(
        () => "late" as const,
        () => undefined,
      );
    const first = await Promise.race([...ends, sleeping]);
    timer.abort();
    if (first !== "late") return first;
    if (this.#winner === undefined && !this.#request.signal.aborted) this.#askNext();
    return undefined;
  }

  /** Returns the milliseconds until the next adapter is asked; undefined: none is. */
  #waitMs(): number | undefined {
    const last = [...this.#running.keys()].at(-1);
    if (last === undefined) return undefined;
    const afterMs = this.#afterMs(last.member);
    return afterMs && Math.max(0, afterMs - elapsedMs(liveClock(this.#run), last.startedAt));
  }

  #take(one: Try, delta: ModelDelta, show: (delta: ModelDelta) => void): void {
    if (one.isOut || !this.#running.has(one)) return;
    one.takes(delta);
    if (this.#winner === undefined && one.streamed !== "") {
      this.#winner = one;
      this.#othersLose(one);
    }
    if (this.#winner !== one) return;
    this.#isShown = one.streamed !== "";
    show(delta);
  }

  #takeBack(): void {
    this.#winner = undefined;
    if (this.#isShown) this.#request.onDelta?.({ kind: "reset" });
    this.#isShown = false;
  }

  #othersLose(winner: Try): void {
    for (const one of this.#running.keys()) {
      if (one === winner) continue;
      this.#running.delete(one);
      this.#loses(one);
    }
  }

  #loses(one: Try): void {
    const run = this.#run;
    const { member, provider, streamed } = one;
    const inside = costInside(provider);
    one.loses();
    const durationMs = elapsedMs(liveClock(run), one.startedAt);
    const { name, model } = provider;
    const step: RouteStep = { provider: name, model, outcome: "cancelled", durationMs };
    one.steps = [step];
    if (!one.isSent) return;
    // The answer would have taken longer still: left out, each request that is hedged would lower the percentile.
    member.past.add({ durationMs, isAnswered: true });
    const inputTokens = inputOf(run, this.#request);
    const estimate = countUsage(undefined, { inputTokens, outputTokens: estimatedTokens(streamed) });
    this.#losers.push({ one, step, inside, estimate });
  }

  #costOf({ one, inside, estimate }: Loser): Usage {
    const cost = atPrice(this.#run, one.member.asked.prices, estimate);
    return inside === undefined ? cost : addUsage(inside, cost);
  }

  async #whole(
    answer: ModelResponse | ModelFailure,
    skipped: readonly RouteStep[],
    queuedMs: number,
  ): Promise<ModelResponse | ModelFailure> {
    await Promise.all(this.#losers.map(({ one }) => one.member.asked.prices.load()));
    for (const loser of this.#losers) loser.one.steps = [{ ...loser.step, usage: reported(this.#costOf(loser)) }];
    const route = [...skipped, ...this.#tries.flatMap(({ steps }) => steps)];
    const usage = this.cost();
    this.#ended = undefined;
    this.#losers.length = 0;
    if (answer.failure !== undefined) {
      const unable = skipped.flatMap(({ why }) => why ?? []);
      return naming({ ...answer, usage, route }, unable);
    }
    const model = answer.model ?? route.findLast(({ outcome }) => outcome === "answered")?.model;
    return { ...answer, usage, model, route, queuedMs };
  }
}

function costInside(provider: ModelProvider): Usage | undefined {
  return isChainProvider(provider) ? provider.triesCost() : undefined;
}
