// 1. A request that one adapter fails goes to the next at once, inside the same turn: no tool is repeated.
// 2. Each try's cost is counted once: with the answer, with the last refusal, or with the end of an aborted evaluation.
// 3. A model is asked only where the budgets have room for it beside what the tries before have cost.
import type { ModelFailure, ModelRequest, ModelResponse, RouteStep, Usage } from "@proviso/core";
import type { ModelDelta } from "@proviso/core/provider";
import type { Failure } from "../failures.ts";
import type { ChainRequest, Lost } from "../request/chain.ts";
import type { RoomForTries } from "../request/tries-room.ts";
import type { Run } from "../run.ts";
import { refusalOfBreaker, skippedStep, sumOfCosts, whyNot, type Member } from "./member.ts";
import { noRoomIn, refusalOf, wholeAnswer, type Refusal } from "./refusal.ts";
import type { Tried } from "./tried.ts";
import { TryUnderWay } from "./try-under-way.ts";

/** What the evaluation's chain says of its requests. */
export interface FallbackPlan {
  readonly run: Run;
  /** false: `order` has to be awaited before the first request. */
  readonly isOrdered: boolean;
  order(request: ModelRequest): Promise<void>;
  /** The models that may be asked, in their order. */
  models(): readonly Member[];
  agentsSkipped(): RouteStep[];
  /** Whether the next one is asked after this. */
  asksNext(tried: Tried): boolean;
  answeredBy(member: Member): void;
  /** Whether the evaluation begins again with an agent where all models refuse. */
  agentIsNext(): boolean;
}

/** One request to one adapter after another. */
export class FallbackTries implements ChainRequest {
  readonly answer: Promise<ModelResponse | ModelFailure>;
  noRoom: Failure | undefined;
  readonly #plan: FallbackPlan;
  readonly #request: ModelRequest;
  readonly #room: RoomForTries;
  readonly #route: RouteStep[] = [];
  /** Why some could not take the request. */
  readonly #unable: string[] = [];
  readonly #refusals: Refusal[] = [];
  #asking: TryUnderWay | undefined;
  /** What the tries that are over have cost; undefined: nothing. */
  #ended: Usage | undefined;
  #queuedMs = 0;

  constructor(plan: FallbackPlan, request: ModelRequest, room: RoomForTries) {
    this.#plan = plan;
    this.#request = request;
    this.#room = room;
    this.answer = this.#answer();
  }

  spent(): Usage | undefined {
    return sumOfCosts(this.#ended, this.#asking?.spent());
  }

  lose(): Lost {
    const [ended, route, inside] = [this.#ended, [...this.#route], this.#asking?.lose()];
    return { cost: () => sumOfCosts(ended, inside?.cost()), steps: () => [...route, ...(inside?.steps() ?? [])] };
  }

  async #answer(): Promise<ModelResponse | ModelFailure> {
    const plan = this.#plan;
    // An evaluation without an order is not made to wait for a promise.
    if (!plan.isOrdered) await plan.order(this.#request);
    this.#route.push(...plan.agentsSkipped());
    this.#unable.push(...this.#route.flatMap(({ why }) => why ?? []));
    for (const member of plan.models()) {
      const why = this.#whyPassedOver(member);
      if (why !== undefined) {
        this.#route.push(skippedStep(member.asked.providerFor(plan.run), why));
        continue;
      }
      const tried = await this.#try(member);
      if (!plan.asksNext(tried)) {
        if (tried.reason === undefined) plan.answeredBy(member);
        this.noRoom = tried.noRoom;
        return this.#whole(tried.answer);
      }
      this.#refusals.push({ name: member.asked.provider.name, answer: tried.answer, noRoom: tried.noRoom });
      // What one has no room for, the next one has none for either.
      if (this.#request.signal.aborted || tried.noRoom !== undefined) break;
      plan.run.log(
        "warn",
        { turn: plan.run.turn, provider: member.asked.provider.name, reason: tried.reason },
        "prompt.fallback",
      );
    }
    this.noRoom = noRoomIn(this.#refusals);
    const refusal = refusalOf(this.#refusals);
    const isLast = refusal.failure === "throttle" && plan.agentIsNext();
    return this.#whole(isLast ? { ...refusal, retry: false } : refusal);
  }

  async #try(member: Member): Promise<Tried> {
    const { onDelta } = this.#request;
    let isShown = false;
    const show = (delta: ModelDelta): void => {
      isShown = delta.kind !== "reset";
      onDelta?.(delta);
    };
    const request = onDelta === undefined ? this.#request : { ...this.#request, onDelta: show };
    const one = new TryUnderWay(member, { run: this.#plan.run, request, room: this.#room });
    this.#asking = one;
    const tried = await one.ask();
    this.#ended = sumOfCosts(this.#ended, one.spent());
    this.#asking = undefined;
    this.#route.push(...tried.steps);
    this.#queuedMs += tried.queuedMs;
    if (isShown && this.#plan.asksNext(tried) && !request.signal.aborted) onDelta?.({ kind: "reset" });
    return tried;
  }

  /** Why an adapter is passed over: it cannot take the request, or has failed too often of late; undefined: it may be asked. */
  #whyPassedOver(member: Member): string | undefined {
    const { run } = this.#plan;
    const { provider } = member.asked;
    const cannot = whyNot(run, provider, this.#request.messages);
    if (cannot !== undefined) {
      this.#unable.push(cannot);
      return cannot;
    }
    const refusal = refusalOfBreaker(member, run);
    if (refusal !== undefined) this.#refusals.push({ name: provider.name, answer: refusal });
    return refusal?.message;
  }

  #whole(answer: ModelResponse | ModelFailure): ModelResponse | ModelFailure {
    const [usage, route, unable, queuedMs] = [this.#ended, this.#route, this.#unable, this.#queuedMs];
    return wholeAnswer(answer, { usage, route, unable, queuedMs });
  }
}
