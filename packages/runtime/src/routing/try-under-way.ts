// One try: an adapter of a chain is asked once, and the result is returned as data.
// 1. What it has cost is known in the moment in which its answer is read, so an abort at any later one does not lose it.
// 2. A model enters its pace first, then it takes its part of the budget's room, as every request does: what waits for a pace
//    holds no room that another one waits for which has its turn.
import type {
  ModelFailure,
  ModelProvider,
  ModelRequest,
  ModelResponse,
  PaceRequest,
  RouteStep,
  Usage,
} from "@proviso/core";
import { countUsage } from "@proviso/core/internal";
import type { ModelDelta } from "@proviso/core/provider";
import { untilAborted } from "../abort.ts";
import type { RunFiles } from "../content/contract.ts";
import { elapsedMs } from "../environment.ts";
import { isFailure, type Failure } from "../failures.ts";
import { isChainProvider, type ChainMember, type ChainRequest, type Lost } from "../request/chain.ts";
import { boundOf } from "../request/answer-limits.ts";
import { inputOf } from "../request/limited-work.ts";
import { asData } from "../request/model-answer.ts";
import { enterPace, isUnsent, paceOf, type HeldTurn } from "../request/paced.ts";
import type { RoomForTries, TryPlace } from "../request/tries-room.ts";
import { TryEstimate } from "../request/try-estimate.ts";
import type { Run } from "../run.ts";
import { deltasFor, textOf } from "../streaming/deltas.ts";
import { estimatedTokens } from "../tokens.ts";
import type { ServiceState } from "./breaker.ts";
import { liveClock } from "./live-clock.ts";
import { atPrice, refusalOfBreaker, reported, sumOfCosts, type Member } from "./member.ts";
import { paceOutcomeOf, passedOver, reasonOf, serviceState, unsent, withoutRoom, type Tried } from "./tried.ts";

/** What a request to a member needs beside the member. */
export interface Asking {
  readonly run: Run;
  readonly request: ModelRequest;
  readonly room: RoomForTries;
}

/** One adapter that is asked, until it has ended or lost. */
export class TryUnderWay {
  readonly member: Member;
  readonly provider: ModelProvider;
  readonly startedAt: number;
  readonly #run: Run;
  readonly #request: ModelRequest;
  readonly #room: RoomForTries;
  readonly #prices: ChainMember["prices"];
  #place: TryPlace | undefined;
  /** When it was sent; undefined: it was not. */
  #sentAt: number | undefined;
  /** Whether the last request carried the limit of its place. */
  #carriesLimit = false;
  #isOver = false;
  /** Whether it waited for its pace, or for room: what is known of its service may be older. */
  #hasWaited = false;
  #streamed = "";
  /** What has been answered of it has cost so much, not priced yet; undefined: nothing, or it is not known yet. */
  #usage: Usage | undefined;
  #inside: ChainRequest | undefined;
  /** The budget that had no room for the request without its limit. */
  #noRoom: Failure | undefined;

  constructor(member: Member, { run, request, room }: Asking) {
    this.member = member;
    this.provider = member.asked.providerFor(run);
    this.startedAt = liveClock(run).now();
    this.#run = run;
    this.#request = request;
    this.#room = room;
    this.#prices = member.asked.prices;
  }

  /** The text that it has streamed since it took some back. */
  get streamed(): string {
    return this.#streamed;
  }

  /** What it has cost so far: what it reported, else an estimate of what it has streamed; undefined: nothing. */
  spent(): Usage | undefined {
    if (this.#inside !== undefined) return this.#inside.spent();
    const underWay = this.#isOver || this.#streamed === "" ? undefined : this.#tokensSoFar();
    const usage = sumOfCosts(this.#usage, underWay);
    return usage && atPrice(this.#run, this.#prices, usage);
  }

  /** Another one has won: what this one was sent, and what had come from it, is charged as an estimate. */
  lose(): Lost {
    const [run, prices] = [this.#run, this.#prices];
    const durationMs = elapsedMs(liveClock(run), this.startedAt);
    const { name, model } = this.provider;
    const step: RouteStep = { provider: name, model, outcome: "cancelled", durationMs };
    const sentAt = this.#sentAt;
    const underWay = sentAt !== undefined && !this.#isOver ? this.#tokensSoFar() : undefined;
    const usage = sumOfCosts(this.#usage, underWay);
    this.#isOver = true;
    // Counted before its room is free for others.
    this.#usage = usage;
    this.#place?.leave();
    // The answer would have taken longer still: left out, each request that is hedged would lower the percentile.
    if (sentAt !== undefined) {
      this.member.past.add({ durationMs: elapsedMs(liveClock(run), sentAt), isAnswered: true });
    }
    const inside = this.#inside?.lose();
    const cost = (): Usage | undefined => (inside === undefined ? usage && atPrice(run, prices, usage) : inside.cost());
    const steps = (): readonly RouteStep[] => {
      const asked = inside?.steps() ?? [];
      const usage = inside === undefined ? cost() : undefined;
      return asked.length > 0 ? asked : [usage === undefined ? step : { ...step, usage: reported(usage) }];
    };
    return { cost, steps };
  }

  /** Asks once, at the member's own pace. Rejects with the reason of the request's signal, or with what the pace threw. */
  async ask(): Promise<Tried> {
    const [run, request] = [this.#run, this.#request];
    const clock = liveClock(run);
    const { asked, breaker, past } = this.member;
    let breakerEnds: ReturnType<NonNullable<typeof breaker>["begin"]> | undefined;
    let service: ServiceState = { state: "unknown" };
    let turn: HeldTurn | undefined;
    let ended: { readonly answer: ModelResponse | ModelFailure; readonly cost: Usage | undefined } | undefined;
    const enteredAt = clock.now();
    try {
      // What need not wait is sent at once: of several requests at once, one tries a service that had failed.
      const entering = this.#entered();
      const entered = entering instanceof Promise ? await entering : entering;
      if (entered !== undefined && !("end" in entered)) return unsent(this.provider, entered);
      turn = entered;
      const placing = this.#placed();
      if (placing instanceof Promise) turn?.pause();
      const refused = placing instanceof Promise ? await placing : placing;
      if (refused !== undefined) return refused;
      const again = turn?.again(this.#paceRequest(), { signal: request.signal, deadline: run.limits.deadline });
      const heldBack = again instanceof Promise ? await again : again;
      if (heldBack !== undefined) return unsent(this.provider, heldBack);
      request.signal.throwIfAborted();
      breakerEnds = breaker?.begin();
      const answering = turn === undefined ? this.#sent() : turn.send(() => this.#sent());
      // Where others wait for this try's end, a provider that does not look at its signal ends it no later than one that does.
      const isWaitedFor = turn !== undefined || breaker?.isTrying === true;
      const answer = await (isWaitedFor ? untilAborted(request.signal, answering) : answering);
      const durationMs = elapsedMs(clock, enteredAt);
      const reason = reasonOf(answer);
      if (asked.prices.current() === undefined) await asked.prices.load();
      const cost = this.spent();
      ended = { answer, cost };
      const queuedMs = (turn?.queuedMs ?? 0) + (answer.failure === undefined ? (answer.queuedMs ?? 0) : 0);
      if (!request.signal.aborted) {
        service = serviceState(answer, reason);
        past.add({ durationMs: elapsedMs(clock, this.#sentAt ?? enteredAt), isAnswered: reason === undefined });
      }
      const step: RouteStep = {
        provider: this.provider.name,
        model: (answer.failure === undefined ? answer.model : undefined) ?? this.provider.model,
        outcome: reason ?? "answered",
        durationMs,
        usage: cost && reported(cost),
      };
      const steps = answer.route ?? (isChainProvider(this.provider) ? [] : [step]);
      return { answer, reason, steps, queuedMs, noRoom: this.#noRoom ?? this.#inside?.noRoom };
    } finally {
      const isSent = this.#sentAt !== undefined && !isUnsent(ended?.answer);
      turn?.end(isSent, ended && paceOutcomeOf(ended.answer, ended.cost));
      breakerEnds?.(clock.now(), service);
      // What an aborted try has streamed is paid for.
      if (!this.#isOver && this.#streamed !== "") this.#usage = sumOfCosts(this.#usage, this.#tokensSoFar());
      this.#isOver = true;
      this.#place?.end(this.#carriesLimit);
    }
  }

  /** Enters the pace; the room of the request is free for others while it waits there. undefined: it has none. */
  #entered(): ReturnType<typeof enterPace> | undefined {
    const [run, request] = [this.#run, this.#request];
    const { pacing, limits } = run;
    const isOwn = pacing === undefined || pacing === "off" || "lane" in pacing;
    const pace = isOwn ? paceOf(pacing, this.member.asked) : undefined;
    if (pace === undefined) return undefined;
    return enterPace(pace, this.#paceRequest(), { signal: request.signal, deadline: limits.deadline }, () => {
      this.#hasWaited = true;
      return this.#room.startPaceWait();
    });
  }

  #paceRequest(): PaceRequest {
    const [run, request] = [this.#run, this.#request];
    return { inputTokens: inputOf(run, request), outputTokens: boundOf(this.provider, run) ?? 0 };
  }

  /** Takes the room for an answer, where it is no chain; returns why it is not asked. */
  #placed(): Tried | undefined | Promise<Tried | undefined> {
    const taking = isChainProvider(this.provider) ? undefined : this.#room.take();
    if (!(taking instanceof Promise)) return this.#taken(taking);
    this.#hasWaited = true;
    return taking.then((taken) => this.#taken(taken));
  }

  #taken(taken: TryPlace | Failure | undefined): Tried | undefined {
    if (isFailure(taken)) return withoutRoom(taken);
    this.#place = taken;
    // While it waited, the breaker may have opened.
    const refusal = this.#hasWaited ? refusalOfBreaker(this.member, this.#run) : undefined;
    return refusal && passedOver(this.provider, refusal);
  }

  /** Sends the request, and once more without the budget's limit where the model may refuse that. */
  #sent(): Promise<ModelResponse | ModelFailure> {
    const room = this.#place?.limit;
    const limit = room === undefined ? undefined : this.#room.limits?.of(room, this.member.asked);
    return limit === undefined ? this.#send(undefined) : this.#sentWithin(limit);
  }

  async #sentWithin(limit: number): Promise<ModelResponse | ModelFailure> {
    const refused = await this.#send(limit);
    if (refused.failure === undefined || this.#request.signal.aborted) return refused;
    if (this.#room.limits?.lift(limit, this.member.asked, refused) !== true) return refused;
    // What the refused request streamed is no part of the answer.
    const hasStreamed = this.#streamed !== "";
    this.#streamed = "";
    if (hasStreamed) this.#request.onDelta?.({ kind: "reset" });
    // A refusal is free, nearly always. Where it was not, the budget may have nothing left.
    if (this.#usage !== undefined && !(await this.#placedAgain())) return refused;
    // A listener may have aborted the evaluation when it received the reset.
    this.#request.signal.throwIfAborted();
    this.#isOver = false;
    return this.#send(undefined);
  }

  /** Takes the room for the request that goes out once more, and returns whether there is any. */
  async #placedAgain(): Promise<boolean> {
    this.#place?.leave();
    this.#place = undefined;
    const taken = await this.#room.take();
    if (isFailure(taken)) this.#noRoom = taken;
    else this.#place = taken;
    return this.#noRoom === undefined;
  }

  #send(limit: number | undefined): Promise<ModelResponse | ModelFailure> {
    const [run, request, provider] = [this.#run, this.#request, this.provider];
    this.#sentAt = liveClock(run).now();
    this.#carriesLimit = limit !== undefined;
    const { onDelta } = request;
    const take = deltasFor((delta: ModelDelta) => {
      if (this.#isOver) return;
      this.#streamed = delta.kind === "reset" ? "" : this.#streamed + textOf(delta);
      onDelta?.(delta);
    });
    const limited = limit === undefined ? request : { ...request, maxOutputTokens: limit };
    // Where the evaluation is not streamed, neither has it.
    const own = onDelta === undefined ? limited : { ...limited, onDelta: take };
    const begin = (): Promise<unknown> => {
      if (isChainProvider(provider)) return (this.#inside = provider.ask(own, this.#room)).answer;
      return run.files === undefined ? provider.generate(own) : withFiles(run.files, provider, own);
    };
    return asData({ begin, read: (answer) => this.#count(answer, own) });
  }

  /** Counts what an answer cost, in the moment in which it is there. */
  #count(answer: ModelResponse | ModelFailure, sent: ModelRequest): void {
    if (answer.failure === undefined) this.#room.limits?.answered(this.member.asked);
    if (this.#isOver) return;
    const [run, provider] = [this.#run, this.provider];
    const inputTokens = (): number => inputOf(run, this.#request);
    const limit = (): number | undefined => sent.maxOutputTokens ?? boundOf(provider, run);
    const estimate = new TryEstimate({ inputTokens, limit }, answer, this.#streamed);
    if (this.#inside === undefined && !estimate.isFree) {
      this.#usage = sumOfCosts(this.#usage, countUsage(answer.usage, estimate));
    }
    this.#isOver = true;
  }

  #tokensSoFar(): Usage {
    const inputTokens = inputOf(this.#run, this.#request);
    return countUsage(undefined, { inputTokens, outputTokens: estimatedTokens(this.#streamed) });
  }
}

/** Asks with the files as this model takes them. */
async function withFiles(
  files: RunFiles,
  provider: ModelProvider,
  request: ModelRequest,
): Promise<ModelResponse | ModelFailure> {
  const prepared = await files.prepare(request, provider);
  request.signal.throwIfAborted();
  if (!isFailure(prepared)) return provider.generate(prepared);
  return { failure: "provider", reason: "bad_request", message: prepared.message };
}
