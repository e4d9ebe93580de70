// One try: an adapter of a chain is asked once, and the result is returned as data.
import type {
  Message,
  ModelFailure,
  ModelProvider,
  ModelRequest,
  ModelResponse,
  ReportedUsage,
  RouteStep,
  Usage,
} from "@proviso/core";
import { addUsage, countUsage } from "@proviso/core/internal";
import type { ModelDelta } from "@proviso/core/provider";
import { untilAborted } from "../abort.ts";
import type { RunFiles } from "../content/contract.ts";
import { isFailure } from "../failures.ts";
import { refusedSetting } from "../evaluate-options.ts";
import { elapsedMs } from "../environment.ts";
import { answerFault } from "../inner-loop.ts";
import type { Asked } from "../request/chain.ts";
import { asData } from "../request/model-answer.ts";
import { paceOf, paceOutcome } from "../request/paced.ts";
import { TryEstimate } from "../request/try-estimate.ts";
import { dollarsFor } from "../prices.ts";
import type { Run } from "../run.ts";
import { liveClock } from "./live-clock.ts";
import { deltasFor, textOf } from "../streaming/deltas.ts";
import { inputTokensOf } from "../tokens.ts";
import { boundOf } from "../request/limited-work.ts";
import type { Breaker, ServiceState } from "./breaker.ts";
import type { TryReason } from "./reasons.ts";
import { PastRequests } from "./past-requests.ts";

/** One adapter of a chain, and how it has done so far. */
export class Member {
  readonly index: number;
  readonly asked: Asked;
  /** undefined: it is always asked. */
  readonly breaker: Breaker | undefined;
  readonly past = new PastRequests();

  constructor(index: number, asked: Asked, breaker: Breaker | undefined) {
    this.index = index;
    this.asked = asked;
    this.breaker = breaker;
  }
}

/** A try that is over. */
export interface Tried {
  readonly answer: ModelResponse | ModelFailure;
  /** Why it is no answer that can be used; undefined: it is one. */
  readonly reason: TryReason | undefined;
  /** One, or those of a chain inside the chain. */
  readonly steps: readonly RouteStep[];
  /** undefined: nothing. */
  readonly cost: Usage | undefined;
  readonly queuedMs: number;
}

/** What a request to a member needs beside the member. */
export interface Asking {
  readonly run: Run;
  /** The provider of this evaluation. */
  readonly provider: ModelProvider;
  readonly request: ModelRequest;
  /** Gets the answer's text while the try runs; undefined: it is not streamed. */
  readonly onDelta: ((delta: ModelDelta) => void) | undefined;
  /** Called when its pace has let it go out. */
  readonly onSent?: (() => void) | undefined;
}

/** Asks once, at the member's own pace. Rejects with the reason of the request's signal, or with what the pace threw. */
export async function tryMember(member: Member, asking: Asking): Promise<Tried> {
  const { run, provider, request, onDelta } = asking;
  const clock = liveClock(run);
  const { asked, breaker, past } = member;
  const isOver = breaker?.begin();
  let service: ServiceState = { state: "unknown" };
  let turn: Turn | undefined;
  try {
    const startedAt = clock.now();
    const { pacing } = run;
    const pace = pacing === undefined || pacing === "off" || "lane" in pacing ? paceOf(pacing, asked) : undefined;
    const entry =
      pace &&
      (await pace.enter(
        { inputTokens: inputOf(run, request), outputTokens: boundOf(provider, run) ?? 0 },
        { signal: request.signal, expiresAt: run.limits.deadline?.expiresAt.getTime() },
      ));
    if (entry?.ok === false) return unsent(asked, entry.retryAfterMs);
    // A turn that comes after the abort is not used.
    if (request.signal.aborted) entry?.turn.giveBack();
    request.signal.throwIfAborted();
    turn = entry?.turn;
    asking.onSent?.();
    let streamed = "";
    const take = deltasFor((delta) => {
      streamed = delta.kind === "reset" ? "" : streamed + textOf(delta);
      onDelta?.(delta);
    });
    // Where the evaluation is not streamed, neither has it.
    const own = onDelta === undefined ? request : { ...request, onDelta: take };
    const answering = asData({
      begin: () => (run.files === undefined ? provider.generate(own) : withFiles(run.files, provider, own)),
    });
    // Where others wait for this try's end, a provider that does not look at its signal ends it no later than one that does.
    const isWaitedFor = turn !== undefined || breaker?.isTrying === true;
    const answer = await (isWaitedFor ? untilAborted(request.signal, answering) : answering);
    const durationMs = elapsedMs(clock, startedAt);
    const reason = reasonOf(answer);
    if (asked.prices.current() === undefined) await asked.prices.load();
    const cost = costOf(asking, asked, answer, streamed);
    endTurn(turn, answer, cost);
    turn = undefined;
    if (!request.signal.aborted) {
      service = serviceState(answer, reason);
      past.add({ durationMs, isAnswered: reason === undefined });
    }
    const step: RouteStep = {
      provider: provider.name,
      model: (answer.failure === undefined ? answer.model : undefined) ?? provider.model,
      outcome: reason ?? "answered",
      durationMs,
      usage: cost && reported(cost),
    };
    const queuedMs = (entry?.turn.queuedMs ?? 0) + (answer.failure === undefined ? (answer.queuedMs ?? 0) : 0);
    return { answer, reason, steps: answer.route ?? [step], cost, queuedMs };
  } finally {
    turn?.end();
    isOver?.(clock.now(), service);
  }
}

/** Why an adapter cannot take the settings of an evaluation, or the files of its messages; undefined: it can. */
export function whyNot(run: Run, provider: ModelProvider, messages: readonly Message[]): string | undefined {
  return (refusedSetting(provider, run.settings) ?? run.files?.refuses(messages, provider))?.message;
}

/** The step of an adapter that is not asked. */
export function skippedStep({ name, model }: ModelProvider, why: string): RouteStep {
  return { provider: name, model, outcome: "skipped", why, durationMs: 0 };
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

function unsent({ provider: { name, model } }: Asked, retryAfterMs: number): Tried {
  const message = `By its pace ${name} could be asked in ${retryAfterMs} ms.`;
  const answer = { failure: "throttle", kind: "rate_limit", retry: false, retryAfterMs, message } as const;
  const step: RouteStep = { provider: name, model, outcome: "rate_limit", durationMs: 0 };
  return { answer, reason: "rate_limit", steps: [step], cost: undefined, queuedMs: 0 };
}

type Turn = { end(outcome?: ReturnType<typeof paceOutcome>): void };

function endTurn(turn: Turn | undefined, answer: ModelResponse | ModelFailure, cost: Usage | undefined): void {
  if (turn === undefined) return;
  if (answer.failure !== undefined) turn.end(paceOutcome(answer));
  else turn.end(cost && paceOutcome({ failure: undefined, response: answer, usage: cost }));
}

/** undefined: the answer can be used. */
function reasonOf(answer: ModelResponse | ModelFailure): TryReason | undefined {
  if (answer.failure === undefined) {
    const fault = answerFault(answer);
    return fault?.stop === "provider" ? fault.reason : undefined;
  }
  if (answer.failure === "throttle") return answer.kind;
  return answer.failure === "provider" ? answer.reason : "process";
}

/** What the service does with one request says nothing of it: that it is too long, or that it is refused. */
const ofTheRequest: ReadonlySet<TryReason> = new Set([
  "context_length",
  "bad_request",
  "content_filter",
  "refusal",
  "truncated",
]);

function serviceState(answer: ModelResponse | ModelFailure, reason: TryReason | undefined): ServiceState {
  if (reason === undefined || ofTheRequest.has(reason)) return { state: "well" };
  if (answer.failure !== "throttle") return { state: "failed", kind: "unknown" };
  return { state: "failed", kind: answer.kind, retryAfterMs: answer.retryAfterMs };
}

/** An estimate of what is sent. */
export function inputOf(run: Run, request: ModelRequest): number {
  return inputTokensOf(request, run.history, { known: run.knownCost, correction: run.inputCorrection });
}

/** What was reported, else an estimate, at the member's prices; undefined where nothing was reported or produced. */
function costOf(
  { run, provider, request }: Asking,
  { prices }: Asked,
  answer: ModelResponse | ModelFailure,
  streamed: string,
): Usage | undefined {
  const inputTokens = (): number => inputOf(run, request);
  const limit = (): number | undefined => request.maxOutputTokens ?? boundOf(provider, run);
  const estimate = new TryEstimate({ inputTokens, limit }, answer, streamed);
  return estimate.isFree ? undefined : atPrice(run, prices, countUsage(answer.usage, estimate));
}

/** The usage with its cost in dollars, where that is known by now. */
export function atPrice(run: Run, prices: Asked["prices"], usage: Usage): Usage {
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
