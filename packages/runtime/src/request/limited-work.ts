import type { ModelFailure, ModelProvider, ModelRequest, Usage } from "@proviso/core";
import { usualAnswer } from "../answer-lengths.ts";
import type { Room, Wanted } from "../budget-room.ts";
import type { Granted } from "../budgets.ts";
import { budgetFailure, type Failure } from "../failures.ts";
import type { Run } from "../run.ts";
import { AnswerLimits, boundOf } from "./answer-limits.ts";
import type { Answered, Work, WorkPace } from "./attempt.ts";
import { inputTokensOf } from "../tokens.ts";
import { isChainProvider, type ChainProvider, type ChainRequest } from "./chain.ts";
import { deltasFor } from "../streaming/deltas.ts";
import { TriesOfRequest, type SentLimit } from "./tries-room.ts";

/**
 * The requests of one turn, each with the limit that the budget sets to its answer. A class: each turn has one, and
 * closures for each of these would cost more.
 */
export class LimitedWork implements Work {
  readonly request: ModelRequest;
  readonly messages: ModelRequest["messages"];
  readonly wanted: Wanted | undefined;
  queuedMs?: number;
  hasBegun = false;
  pace?: WorkPace;
  readonly #run: Run;
  readonly #provider: ModelProvider;
  readonly #atOnce: number;
  /** undefined: no budget limits its answers. */
  readonly #limits: AnswerLimits | undefined;
  #single: SentLimit | undefined;
  #tries: TriesOfRequest | undefined;
  #asking: ChainRequest | undefined;

  constructor(run: Run, provider: ModelProvider, request: ModelRequest, limits?: AnswerLimits) {
    this.#run = run;
    this.#provider = provider;
    this.#atOnce = isChainProvider(provider) ? provider.atOnce : 1;
    this.request = request;
    this.messages = request.messages;
    if (run.limits.budget === undefined) return;
    this.#limits = limits ?? new AnswerLimits(run);
    this.wanted = this.#wantedFor(this.#atOnce);
  }

  /** The work that goes on with a shorter history: a model that refused a limit is sent none. */
  shorter(request: ModelRequest): LimitedWork {
    this.#limits?.shortened();
    return new LimitedWork(this.#run, this.#provider, request, this.#limits);
  }

  inputTokens(): number {
    return inputOf(this.#run, this.request);
  }

  spentByTries(): { readonly cost: Usage | undefined } | undefined {
    return this.#asking && { cost: this.#asking.spent() };
  }

  limit(): number | undefined {
    return this.#sent()?.limit ?? boundOf(this.#provider, this.#run);
  }

  begin(onDelta: Parameters<Work["begin"]>[0], granted: Granted): Promise<unknown> {
    this.hasBegun = true;
    const { request } = this;
    const asked = onDelta === undefined ? request : { ...request, onDelta: deltasFor(onDelta) };
    const provider = this.#provider;
    if (isChainProvider(provider)) return this.#askChain(provider, asked, granted);
    const { room } = granted;
    const limit = this.#limitIn(room, 1);
    this.#single = room === undefined || limit === undefined ? undefined : { limit, room };
    return provider.generate(limit === undefined ? asked : { ...asked, maxOutputTokens: limit });
  }

  /** Asks a chain, whose models each carry the limit that the ones before have left. */
  #askChain(provider: ChainProvider, request: ModelRequest, granted: Granted): Promise<unknown> {
    this.#asking = undefined;
    this.#tries = new TriesOfRequest({
      granted,
      signal: request.signal,
      atOnce: this.#atOnce,
      limits: this.#limits,
      wantedFor: (atOnce) => this.#wantedFor(atOnce),
      limitIn: (room, atOnce) => this.#limitIn(room, atOnce),
      spent: () => this.#asking?.spent(),
    });
    this.#asking = provider.ask(request, this.#tries);
    return this.#asking.answer;
  }

  #wantedFor(atOnce: number): Wanted {
    return wantedOf(this.#run, boundsOf(this.#provider, this.#run), { inputTokens: this.inputTokens(), atOnce });
  }

  #limitIn(room: Room | undefined, atOnce: number): number | undefined {
    if (room === undefined) return undefined;
    const { outputLimits } = this.#run;
    return this.#limits?.of(Math.floor(room.tokens / atOnce), { provider: this.#provider, outputLimits });
  }

  /** The limit that the answer's request carried. */
  #sent(): SentLimit | undefined {
    return this.#tries === undefined ? this.#single : this.#tries.sent;
  }

  /** Why there is no answer, or no whole one, where the budget is the reason. */
  cutShort(answer: Answered | ModelFailure): Failure | undefined {
    if (answer.failure !== undefined && this.#asking?.noRoom !== undefined) return this.#asking.noRoom;
    if (answer.failure === undefined) this.#limits?.answered(this.#run);
    const sent = this.#sent();
    if (sent === undefined || !isCut(answer, sent.limit)) return undefined;
    const { limit, room } = sent;
    const text = answer.failure === undefined ? answer.response.message.text : undefined;
    return budgetFailure(`cut the answer short after ${limit} tokens`, "response", { ...room, text });
  }

  /** Takes the limit away where a refusal may be for it, and returns whether it did: then the request goes out once more. */
  liftLimit(refusal: ModelFailure): boolean {
    return this.#single !== undefined && this.#limits?.lift(this.#single.limit, this.#run, refusal) === true;
  }
}

/** An estimate of what is sent; the history keeps its parts. */
export function inputOf(run: Run, request: ModelRequest): number {
  return inputTokensOf(request, run.history, { known: run.knownCost, correction: run.inputCorrection });
}

function boundsOf(provider: ModelProvider, run: Run): AnswerBounds {
  return { maxOutputTokens: boundOf(provider, run), least: provider.capabilities.outputLimit?.least };
}

/** An answer that ended well before the limit was cut short by something else: the model's own bound, its window. */
function isCut(answer: Answered | ModelFailure, limit: number): boolean {
  if (answer.failure !== undefined) return answer.failure === "provider" && answer.reason === "truncated";
  const { response, own } = answer;
  return response.finishReason === "length" && (own.estimated || own.outputTokens >= 0.9 * limit);
}

/** What is known of how long an answer can be. */
export interface AnswerBounds {
  /** The model's own. */
  readonly maxOutputTokens?: number | undefined;
  /** The smallest limit that a request can set; undefined: it can set none. */
  readonly least?: number | undefined;
}

/** What a request sends. */
export interface Sent {
  /** An estimate. */
  readonly inputTokens: number;
  /** How many models it may go to at the same time: each of them costs. */
  readonly atOnce: number;
}

/** What a request wants of a budget. */
export function wantedOf(run: Run, bounds: AnswerBounds, { inputTokens, atOnce }: Sent): Wanted {
  const { maxOutputTokens: bound = Infinity, least } = bounds;
  const expected = run.expected?.outputTokensPerTurn.p90;
  const unbounded = bound === Infinity ? usualAnswer : bound;
  const usual = Math.min(bound, Math.ceil(expected ?? unbounded));
  // What cannot be cut short needs room for all that it may answer, where that is known.
  const needed = expected === undefined && bound === Infinity ? 1 : usual;
  const leastOutputTokens = least === undefined ? needed : Math.min(bound, least);
  return {
    inputTokens: inputTokens * atOnce,
    outputTokens: Math.max(usual, leastOutputTokens) * atOnce,
    leastOutputTokens: leastOutputTokens * atOnce,
    costOf: costsOf(run),
  };
}

function costsOf({ prices, world: { clock } }: Run): Wanted["costOf"] {
  const current = prices.current();
  if (current?.known !== true) return undefined;
  return (inputTokens, outputTokens) => current.priceOf({ inputTokens, outputTokens }, clock.now());
}
