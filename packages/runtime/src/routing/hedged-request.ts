// 1. The first answer wins, or the first delta where the answer is streamed; all others are aborted in the same moment.
// 2. Who lost is not waited for. What it has cost is an estimate: what was sent, and what had arrived of its answer.
// 3. Only what the winner streams is shown.
// 4. Each model gets a share of the budget's room; the shares of those that may still be asked stay free.
import type { ModelFailure, ModelRequest, ModelResponse, RouteStep, Usage } from "@proviso/core";
import type { ModelDelta } from "@proviso/core/provider";
import { onAbort } from "../abort.ts";
import { elapsedMs } from "../environment.ts";
import type { Failure } from "../failures.ts";
import type { ChainMember, ChainRequest, Lost } from "../request/chain.ts";
import { thrown } from "../request/model-answer.ts";
import type { RoomForTries } from "../request/tries-room.ts";
import type { Run } from "../run.ts";
import { liveClock } from "./live-clock.ts";
import { sumOfCosts, type Member } from "./member.ts";
import { asksNextAfter } from "./reasons.ts";
import { noRoomIn, refusalOf, wholeAnswer, type Refusal } from "./refusal.ts";
import type { Tried } from "./tried.ts";
import { TryUnderWay, type Asking } from "./try-under-way.ts";

/** Milliseconds without an answer of this adapter until the next is asked, too; undefined: it is not asked. */
export type AfterMs = (last: Member) => number | undefined;

const asksNext = asksNextAfter();

/** One adapter of several that are asked at once. */
class Runner {
  readonly one: TryUnderWay;
  readonly #controller: AbortController;
  readonly #stopListening: () => void;
  /** Whether another one has won. */
  hasLost = false;
  steps: () => readonly RouteStep[] = () => [];

  constructor(one: TryUnderWay, controller: AbortController, signal: AbortSignal) {
    this.one = one;
    this.#controller = controller;
    this.#stopListening = onAbort(signal, (reason) => controller.abort(reason));
  }

  get member(): Member {
    return this.one.member;
  }

  ends(): void {
    this.#stopListening();
  }

  loses(): Lost {
    this.hasLost = true;
    this.#stopListening();
    const lost = this.one.lose();
    this.steps = lost.steps;
    this.#controller.abort(new DOMException("Another model answered first.", "AbortError"));
    return lost;
  }
}

interface Ended {
  readonly runner: Runner;
  /** undefined: it was aborted before it was sent, or could not be asked at all. */
  readonly tried: Tried | undefined;
  /** What it rejected with, where `tried` is undefined. */
  readonly cause?: unknown;
}

/** One request, to one adapter after another or to several at once. */
export class HedgedRequest implements ChainRequest {
  readonly answer: Promise<ModelResponse | ModelFailure>;
  noRoom: Failure | undefined;
  readonly #run: Run;
  readonly #members: readonly Member[];
  readonly #afterMs: AfterMs;
  readonly #request: ModelRequest;
  readonly #room: RoomForTries;
  readonly #skipped: readonly RouteStep[];
  readonly #runners: Runner[] = [];
  readonly #running = new Map<Runner, Promise<Ended>>();
  readonly #failed = new Set<Member>();
  /** Members for which the budget has no room until another try ends. */
  readonly #withoutRoom = new Map<Member, Refusal>();
  readonly #refusals: Refusal[] = [];
  /** The one that streams. */
  #winner: Runner | undefined;
  #isShown = false;
  /** What the tries that have ended have cost. */
  #ended: Usage | undefined;
  readonly #losers: Lost[] = [];
  /** The prices of those that have lost: they may not be there yet. */
  readonly #prices: ChainMember["prices"][] = [];
  #queuedMs = 0;
  /** When the last of the counted waits ended. */
  #queuedUntil = -Infinity;

  constructor(
    { run, request, room }: Asking,
    members: readonly Member[],
    afterMs: AfterMs,
    skipped: readonly RouteStep[],
  ) {
    this.#run = run;
    this.#members = members;
    this.#afterMs = afterMs;
    this.#request = request;
    this.#room = room;
    this.#skipped = skipped;
    this.answer = this.#answer();
  }

  /** Waits that overlap count once. */
  #addWait(from: number, waitedMs: number): void {
    const until = from + waitedMs;
    this.#queuedMs += Math.max(0, until - Math.max(from, this.#queuedUntil));
    this.#queuedUntil = Math.max(this.#queuedUntil, until);
  }

  spent(): Usage | undefined {
    const running = [...this.#running.keys()].map(({ one }) => one.spent());
    const lost = this.#losers.map((one) => one.cost());
    return [...running, ...lost].reduce(sumOfCosts, this.#ended);
  }

  lose(): Lost {
    this.#othersLose(undefined);
    const [ended, losers, skipped] = [this.#ended, [...this.#losers], this.#skipped];
    const runners = [...this.#runners];
    return {
      cost: () => losers.map((lost) => lost.cost()).reduce(sumOfCosts, ended),
      steps: () => [...skipped, ...runners.flatMap(({ steps }) => steps())],
    };
  }

  async #answer(): Promise<ModelResponse | ModelFailure> {
    const { signal } = this.#request;
    for (;;) {
      if (this.#running.size === 0) {
        signal.throwIfAborted();
        if (!this.#askNext()) return this.#refused();
      }
      const ended = await this.#nextEnd();
      // A try that has lost ends, too, when its service notices the abort.
      if (ended === undefined || ended.runner.hasLost) continue;
      const { runner, tried } = ended;
      this.#running.delete(runner);
      this.#ended = sumOfCosts(this.#ended, runner.one.spent());
      runner.ends();
      if (tried === undefined) {
        signal.throwIfAborted();
        this.#othersLose(runner);
        return this.#whole(thrown(ended.cause));
      }
      runner.steps = () => tried.steps;
      this.#addWait(runner.one.startedAt, tried.queuedMs);
      if (!asksNext(tried.reason, tried.answer.failure === "throttle") && tried.noRoom === undefined) {
        this.#othersLose(runner);
        return this.#whole(tried.answer);
      }
      const refusal = { name: runner.one.provider.name, answer: tried.answer, noRoom: tried.noRoom };
      if (tried.noRoom === undefined) {
        this.#failed.add(runner.member);
        this.#refusals.push(refusal);
        // What it has not spent is room for those that had none.
        this.#withoutRoom.clear();
      } else this.#withoutRoom.set(runner.member, refusal);
      if (this.#winner === runner) this.#takeBack();
      if (signal.aborted) return this.#refused();
      // Whatever takes long beside it.
      if (tried.noRoom === undefined) this.#askNext();
    }
  }

  /** false: all were asked. */
  #askNext(): boolean {
    const member = this.#next();
    if (member === undefined) return false;
    const { signal, onDelta } = this.#request;
    const controller = new AbortController();
    const take = (delta: ModelDelta): void => this.#take(runner, delta);
    const request = { ...this.#request, signal: controller.signal, ...(onDelta && { onDelta: take }) };
    const room = this.#room.beside(() => this.#others(member));
    const runner = new Runner(new TryUnderWay(member, { run: this.#run, request, room }), controller, signal);
    this.#runners.push(runner);
    this.#running.set(
      runner,
      runner.one.ask().then(
        (tried): Ended => ({ runner, tried }),
        (cause: unknown): Ended => ({ runner, tried: undefined, cause }),
      ),
    );
    return true;
  }

  #next(): Member | undefined {
    return this.#notAsked()[0];
  }

  #notAsked(): readonly Member[] {
    const asked = new Set([...this.#running.keys()].map(({ member }) => member));
    return this.#members.filter(
      (member) => !this.#failed.has(member) && !this.#withoutRoom.has(member) && !asked.has(member),
    );
  }

  /** How many models may be asked, too, while this member is. */
  #others(member: Member): number {
    const others = this.#notAsked().filter((one) => one !== member);
    return others.reduce((sum, { asked }) => sum + asked.atOnce, 0);
  }

  /** Resolves when a try is over; asks the next adapter where that takes long, and resolves with nothing then. */
  async #nextEnd(): Promise<Ended | undefined> {
    const ends = [...this.#running.values()];
    const mayAsk = this.#winner === undefined && !this.#request.signal.aborted;
    const waitMs = mayAsk && this.#next() !== undefined ? this.#waitMs() : undefined;
    if (waitMs === undefined) return Promise.race(ends);
    const timer = new AbortController();
    // A clock that fails says nothing of how long an answer takes.
    const sleeping = this.#sleep(waitMs, timer.signal).then(
      () => "late" as const,
      () => Promise.race(ends),
    );
    const first = await Promise.race([...ends, sleeping]);
    timer.abort();
    if (first !== "late") return first;
    if (this.#winner === undefined && !this.#request.signal.aborted) this.#askNext();
    return undefined;
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    await liveClock(this.#run).sleep(ms, signal);
  }

  /** Returns the milliseconds until the next adapter is asked; undefined: none is. */
  #waitMs(): number | undefined {
    const last = [...this.#running.keys()].at(-1);
    if (last === undefined) return undefined;
    const afterMs = this.#afterMs(last.member);
    return afterMs && Math.max(0, afterMs - elapsedMs(liveClock(this.#run), last.one.startedAt));
  }

  #take(runner: Runner, delta: ModelDelta): void {
    const { streamed } = runner.one;
    if (this.#winner === undefined && streamed !== "") {
      this.#winner = runner;
      this.#othersLose(runner);
    }
    if (this.#winner !== runner) return;
    this.#isShown = streamed !== "";
    this.#request.onDelta?.(delta);
  }

  #takeBack(): void {
    this.#winner = undefined;
    if (this.#isShown) this.#request.onDelta?.({ kind: "reset" });
    this.#isShown = false;
  }

  /** Tries that are under way lose, but for the winner. */
  #othersLose(winner: Runner | undefined): void {
    for (const runner of this.#running.keys()) {
      if (runner === winner) continue;
      this.#losers.push(runner.loses());
      this.#running.delete(runner);
      this.#prices.push(runner.member.asked.prices);
    }
  }

  #refused(): Promise<ModelResponse | ModelFailure> {
    const refusals = [...this.#refusals, ...this.#withoutRoom.values()];
    this.noRoom = noRoomIn(refusals);
    return this.#whole(refusalOf(refusals));
  }

  async #whole(answer: ModelResponse | ModelFailure): Promise<ModelResponse | ModelFailure> {
    await Promise.all(this.#prices.map((prices) => prices.load()));
    const skipped = this.#skipped;
    const route = [...skipped, ...this.#runners.flatMap(({ steps }) => steps())];
    const unable = skipped.flatMap(({ why }) => why ?? []);
    return wholeAnswer(answer, { usage: this.spent(), route, unable, queuedMs: this.#queuedMs });
  }
}
