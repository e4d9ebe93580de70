// The record of one run, as the kernel uses it: see tape-entries.ts for how it moves.
import {
  RunError,
  type EvaluateOptions,
  type EvaluationFailure,
  type PolicyDecision,
  type Prompt,
  type PromptOverride,
  type RunFacts,
  type Suspension,
  type ToolCall,
  type ToolReturn,
} from "@proviso/core";
import type { World } from "../environment.ts";
import { spent } from "../failing.ts";
import { abortedFailure, errorOf, type Failure } from "../failures.ts";
import type { Limits } from "../limits.ts";
import type { Run, Setup } from "../run.ts";
import type { SessionCore } from "../session/session-core.ts";
import type { Transaction } from "../transactions/transaction.ts";
import { begunEntry } from "./begun.ts";
import type { EvaluationOutcome, HandlerParts, KeptCalls, PolicyQuestion, Tape } from "./contract.ts";
import { Decisions, suspendedFault } from "./decisions.ts";
import { EffectRecord } from "./effects.ts";
import type { OpenedSource, RunSource } from "./run-source.ts";
import { runError, TapeFault } from "./fault.ts";
import { recordedHandler } from "./handler.ts";
import { emitEntry, keptCalls, type Delivery } from "./kept-calls.ts";
import { recordedSession, type RecordedSession } from "./session.ts";
import { goesOn, stepsIn } from "./standing.ts";
import { TapeAnswers } from "./tape-answers.ts";
import type { TapeOptions } from "./tape-entries.ts";
import { RecordedLimits, restoredFailure, savedFailure, type Asked } from "./tape-limits.ts";

/** An evaluation whose run was cancelled before its end was kept has no answer: the record has none. */
function cancelledError(run: Run, { reason }: AbortSignal): EvaluationFailure {
  const why = run.redaction.failure(abortedFailure(reason, "response"));
  return errorOf(why, run.redaction.details(spent(run)));
}

/** The record of one run, as its evaluation goes through it. */
export class RecordedTape extends TapeAnswers implements Tape<Run> {
  readonly effects: EffectRecord;
  readonly #decisions: Decisions;
  readonly #options: EvaluateOptions;
  #session: RecordedSession | undefined;
  #stopListening: (() => void) | undefined;

  constructor(source: RunSource, opened: OpenedSource, world: World, { options, evaluationId }: TapeOptions) {
    super(source, opened, world, evaluationId);
    this.#options = options;
    this.effects = new EffectRecord(opened.unknown, this);
    this.#decisions = new Decisions(this.runId, opened.suspended ?? [], () => this.clock.now());
  }

  setup<S extends Pick<Setup, "world">>(setup: S): S {
    return { ...setup, world: this.recordedWorld(setup.world) };
  }

  openSession(options: EvaluateOptions, prompt: Prompt): SessionCore {
    this.#session = recordedSession(this.opened.entries[0], options, prompt, {
      mode: this.source.mode,
      newId: () => this.newSessionId(),
      runId: this.runId,
    });
    this.core = this.#session.core;
    return this.core;
  }

  limits(limits: Limits): Limits {
    const record = {
      isReplay: () => this.isReplay,
      isKept: () => !this.isLive,
      taken: (by: Asked) => {
        const entry = this.isLive ? undefined : this.prefix.nextStop(by);
        return entry && restoredFailure(entry.failure);
      },
      met: (by: Asked, why: Parameters<typeof savedFailure>[0]) => this.#met(by, why),
    };
    return new RecordedLimits(limits, record, this.#options.budget);
  }

  async override(resolve: () => Promise<PromptOverride | undefined>): Promise<PromptOverride | undefined> {
    const begun = this.opened.entries[0];
    // What goes on with another prompt may have another one.
    if (begun?.kind === "begun" && !this.adopts) return (this.adopted ?? begun).override;
    return (this.foundOverride = await resolve());
  }

  begin(run: Run): void {
    this.assertNoFault();
    this.prefix.own.add(run.evaluationId);
    if (run.nesting !== undefined) return;
    this.main = run;
    const { promptName } = run;
    const begun = this.opened.entries[0];
    if (begun !== undefined) {
      if (begun.kind === "begun" && begun.prompt !== promptName) {
        this.diverge({ what: "prompt", path: "prompt", recorded: begun.prompt, now: promptName });
      }
      if (this.isReplay && begun.kind === "begun" && begun.history !== undefined) {
        const { messages, question } = begun.history;
        run.conversation.replace({ messages, question });
      }
    } else {
      const session = this.#session as RecordedSession;
      // The evaluation began when its tape was opened.
      this.appendAt(run.evaluationId, begunEntry(run, session, this.#options, this.foundOverride));
    }
    this.#stopListening = run.core.watchDispatch((event) => {
      // The time of the run does not move with what the application does.
      if (!this.isLive || this.fault !== undefined) return;
      this.keepDispatched(run.evaluationId, run.redact(event), undefined);
    });
  }

  options(given: EvaluateOptions): EvaluateOptions {
    const begun = this.opened.entries[0];
    if (!this.isReplay || begun?.kind !== "begun") return given;
    const { maxTurns, maxRepairs, toolChoice } = begun.options;
    return { ...given, maxTurns, maxRepairs, toolChoice, messages: undefined, continueFrom: undefined };
  }

  cut(run: Run, ask: () => Failure | undefined): Failure | undefined {
    if (!this.isLive && !run.isInside) {
      const entry = this.prefix.nextStop("cut");
      return entry === undefined ? undefined : restoredFailure(entry.failure);
    }
    const why = ask();
    if (why !== undefined && this.isLive && this.fault === undefined) {
      this.append(run.evaluationId, { kind: "stopped", by: "cut", failure: savedFailure(why) });
    }
    return why;
  }

  calls(run: Run, calls: readonly ToolCall[]): Promise<KeptCalls | undefined> | undefined {
    this.assertNoFault();
    if (run.isInside) return undefined;
    if (this.prefix.peek() === undefined) this.goLive();
    if (this.isLive) {
      this.#assertArguments();
      return undefined;
    }
    return this.#keptCalls(run, calls);
  }

  async #keptCalls(run: Run, calls: readonly ToolCall[]): Promise<KeptCalls | undefined> {
    const delivery = this.deliveryTo(run);
    const kept = await keptCalls(run, calls, this.prefix, delivery);
    if (typeof kept === "object" && "fault" in kept) return this.fail(new TapeFault("state", kept.fault));
    if (this.prefix.isEmpty()) this.goLiveUnlessEnded();
    else this.prefix.passResumption();
    if (kept === undefined || kept.answers.includes(undefined)) {
      if (this.isReplay) this.#suspendedAgain(delivery);
      if (this.prefix.peek() === undefined) this.goLive();
      else
        this.diverge({
          what: "call",
          path: "",
          recorded: this.prefix.peek()?.kind,
          now: calls.map(({ name }) => name),
        });
      this.#assertArguments();
    }
    return kept;
  }

  /** @throws where the calls that are about to run would not get what the model asked for. */
  #assertArguments(): void {
    if (!this.answerIsRedacted) return;
    const why = "the arguments of a call that has not run yet were hidden";
    this.fail(new TapeFault("redacted", `The run "${this.runId}" cannot go on: ${why}.`));
  }

  /** A replay ends where the run was suspended. */
  #suspendedAgain(delivery: Delivery): void {
    const rest = this.prefix.entries.slice(this.prefix.at);
    const suspended = rest.find((entry) => entry.kind === "suspended");
    if (suspended === undefined) return;
    for (const entry of rest) {
      delivery.timed(entry.at);
      emitEntry(entry, delivery);
    }
    this.fail(suspendedFault(this.runId, suspended.pending, ""));
  }

  handler<Invocation>(run: Run, parts: HandlerParts<Invocation>): Invocation | Promise<Invocation> {
    return recordedHandler(this, run, parts);
  }

  decided(run: Run, question: PolicyQuestion): PolicyDecision | undefined {
    return this.#decisions.decided(run, question);
  }

  decidedResult(run: Run, call: ToolCall): ToolReturn<unknown> | undefined {
    return this.#decisions.result(run, call);
  }

  suspend(run: Run, question: PolicyQuestion, later: Suspension): never {
    this.assertNoFault();
    return this.fail(this.#decisions.suspend(run, question, later));
  }

  error(run: Run): EvaluationFailure | undefined {
    return this.fault && runError(run, this.runId, this.fault);
  }

  succeeded(run: Run, call: ToolCall, transaction: Transaction): void {
    if (!run.isInside && this.fault === undefined) this.effects.succeeded(run, call, transaction);
  }

  committing(run: Run, transaction: Transaction): Promise<void> | undefined {
    return this.fault === undefined ? this.effects.committing(run, transaction) : undefined;
  }

  committed(run: Run, transaction: Transaction): Promise<void> | undefined {
    return this.effects.committed(run, transaction);
  }

  facts(): RunFacts {
    return Object.freeze({
      id: this.runId,
      attempt: this.attempt,
      keptSteps: this.isReplay ? 0 : stepsIn(this.opened.entries),
    });
  }

  async end(run: Run, outcome: EvaluationOutcome): Promise<EvaluationOutcome> {
    this.#stopListening?.();
    try {
      await this.#suspended(run);
      await this.#ended(run, outcome);
    } catch (error) {
      this.fault ??= this.faultOf(error);
    }
    await this.source.close();
    const reason = this.fault?.reason;
    const isRefused = reason === "fenced" || reason === "suspended" || (reason === undefined && "response" in outcome);
    if (this.signal.aborted && isRefused) return { error: cancelledError(run, this.signal) };
    if (this.fault === undefined) return outcome;
    const error = runError(run, this.runId, this.fault);
    const response = "response" in outcome ? outcome.response : undefined;
    return { error: Object.defineProperty(error, "response", { value: response, enumerable: false }) };
  }

  /** The last that is kept of an attempt that waits: the question, and the event that says so. */
  async #suspended(run: Run): Promise<void> {
    const { fault } = this;
    const { waitsFor } = this.#decisions;
    if (fault?.reason !== "suspended" || waitsFor === undefined || !this.isLive) return;
    this.fault = undefined;
    this.append(run.evaluationId, waitsFor);
    const { callId, tool: name, question } = waitsFor.pending;
    run.emit({ type: "run.suspended", runId: this.runId, callId, name, question });
    await this.flushed();
    this.fault = fault;
  }

  async #ended(run: Run, outcome: EvaluationOutcome): Promise<void> {
    if (this.fault !== undefined) return;
    if (this.isLive) {
      const code = "error" in outcome ? outcome.error.code : undefined;
      const isExecuted = code === undefined;
      const more = code !== undefined && goesOn(code) ? { goesOn: true } : {};
      this.append(run.evaluationId, { kind: "ended", outcome: isExecuted ? "executed" : "failed", ...more });
      await this.flushed();
      return;
    }
    if (this.isStopped && !this.isReplay) return;
    const left = this.prefix.peek();
    if (left === undefined || (!this.isReplay && "error" in outcome && goesOn(outcome.error.code))) return;
    this.diverge({ what: "extra", path: "", recorded: left.kind, now: undefined });
  }

  async notBegun(error: EvaluationFailure): Promise<EvaluationFailure> {
    this.#stopListening?.();
    await this.source.close().catch(() => {});
    const fault = this.fault;
    if (fault === undefined) return error;
    const { promptName, usage, messages, toolResults } = error;
    const of = { promptName, usage, messages, toolResults, phase: "render" as const, cause: fault.cause };
    return new RunError(fault.message, {
      ...of,
      reason: fault.reason,
      runId: this.runId,
      divergence: fault.divergence,
    });
  }

  #met(by: Asked, why: Parameters<typeof savedFailure>[0]): void {
    if (this.fault !== undefined || this.main === undefined || this.isStopped) return;
    this.isStopped = true;
    if (this.isLive) this.append(this.evaluationId, { kind: "stopped", by, failure: savedFailure(why) });
  }
}
