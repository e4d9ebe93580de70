// The record of one run, as the kernel uses it: see tape-entries.ts for how it moves.
import {
  RunError,
  type EvaluateOptions,
  type EvaluationFailure,
  type Message,
  type Prompt,
  type PromptOverride,
  type RunFacts,
} from "@proviso/core";
import { addUsage, isDeadline } from "@proviso/core/internal";
import { isSaved } from "../content/saved-sessions.ts";
import type { World } from "../environment.ts";
import { spent } from "../failing.ts";
import { abortedFailure, errorOf, type Failure } from "../failures.ts";
import { remainingMs } from "../limits.ts";
import type { Run, Setup } from "../run.ts";
import type { SessionCore } from "../session/session-core.ts";
import type { Transaction } from "../transactions/transaction.ts";
import { begunEntry, givenEntry, lastGiven, recallHistory } from "./begun.ts";
import type { EvaluationOutcome, Tape } from "./contract.ts";
import { endedEmpty } from "./empty-attempts.ts";
import type { OpenedSource, RunSource } from "./run-source.ts";
import { runError, TapeFault } from "./fault.ts";
import { limitMetBy } from "./in-time.ts";
import { recordedSession, type RecordedSession } from "./session.ts";
import { mayGoOnAfter, openEndOf } from "./passing-failures.ts";
import { stepsIn } from "./steps.ts";
import { TapeStops } from "./tape-stops.ts";
import { messagesLeft, optionsToAnswerAgain } from "./answered-again.ts";
import { flat } from "./kept-entry.ts";
import { cutEntry, restoredCut } from "./cut-answers.ts";
import { savedFailure } from "./tape-limits.ts";

/** An evaluation whose run was cancelled before its end was kept has no answer: the record has none. */
function cancelledError(run: Run, { reason }: AbortSignal): EvaluationFailure {
  const why = run.redaction.failure(abortedFailure(reason, "response"));
  return errorOf(why, run.redaction.details(spent(run)));
}

/** What a conversation goes on from. */
function messagesOf(outcome: EvaluationOutcome): readonly Message[] {
  return "response" in outcome ? outcome.response.messages : outcome.error.messages;
}

/** The record of one run, as its evaluation goes through it. */
export class RecordedTape extends TapeStops implements Tape<Run> {
  readonly #options: EvaluateOptions;
  #session: RecordedSession | undefined;
  #stopListening: (() => void) | undefined;

  constructor(
    source: RunSource,
    opened: OpenedSource,
    { world, options, around }: { world: World; options: EvaluateOptions; around: Transaction | undefined },
  ) {
    super(source, opened, world, around);
    this.#options = options;
    this.budget = options.budget;
  }

  setup<S extends Pick<Setup, "world">>(setup: S): S {
    return { ...setup, world: this.recordedWorld(setup.world) };
  }

  openSession(options: EvaluateOptions, prompt: Prompt): SessionCore {
    this.#session = recordedSession(this.opened.entries[0], options, prompt, {
      mode: this.source.mode,
      newId: () => this.newSessionId(),
      runId: this.runId,
      isEnded: this.opened.isEnded,
    });
    this.core = this.#session.core;
    flat(this.core.session.id);
    return this.core;
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
    if (this.unansweredSoFar !== undefined) run.usage = addUsage(run.usage, this.unansweredSoFar.own);
    const { promptName } = run;
    const begun = this.opened.entries[0];
    if (begun !== undefined) {
      if (begun.kind === "begun" && begun.prompt !== promptName) {
        this.diverge({ what: "prompt", path: "prompt", recorded: begun.prompt, now: promptName });
      }
      const history = this.isReplay ? lastGiven(this.opened.entries)?.history : undefined;
      if (history !== undefined) recallHistory(run, history);
      // Where anything stands, what is asked for is compared with it.
      const isFree = this.adopts || this.opened.entries.length === 1;
      if (!this.opened.isEnded) this.given = givenEntry(run, this.#options, this.opened.entries, isFree);
    } else {
      const session = this.#session as RecordedSession;
      // The evaluation began when its tape was opened.
      this.appendAt(run.evaluationId, begunEntry(run, session, this.#options, this.foundOverride));
    }
    this.#stopListening = run.core.watchDispatch((event, order) => {
      // The time of the run does not move with what the application does.
      if (!this.isLive || this.fault !== undefined) return;
      this.keepDispatched(run, run.redact(event), order);
    });
  }

  options(given: EvaluateOptions): EvaluateOptions {
    const { opened, isReplay } = this;
    const loop = opened.isEnded ? lastGiven(opened.entries)?.options : undefined;
    if (loop === undefined) return given;
    const without = { ...given, deadline: undefined, budget: undefined, signal: undefined };
    if (isReplay) return { ...without, toolChoice: undefined, ...loop, messages: undefined, continueFrom: undefined };
    // Resources may be opened yet: what is left of the time bounds that, and an abort ends it.
    const { deadline, signal } = given;
    const isLeft = isDeadline(deadline) && remainingMs(deadline) > 0;
    const within = { ...without, signal, deadline: isLeft ? deadline : undefined };
    const { maxTurns, maxRepairs } = loop;
    return { ...optionsToAnswerAgain(opened, within), maxTurns, maxRepairs };
  }

  endsLoop({ isInside }: Run, code: EvaluationFailure["code"] | undefined, isMet: () => boolean): boolean {
    const next = this.isLive || isInside ? undefined : this.prefix.look();
    if (next === undefined || next.kind === "stopped") return isMet();
    const event = next.kind === "event" ? next.event : undefined;
    // What ended one of several attempts is known from what follows it alone.
    if (event?.type === "evaluation.restarted") return event.code === code;
    if (event?.type === "prompt.failed") return event.code === code || isMet();
    return event?.type === "prompt.executed" && isMet();
  }

  cut(run: Run, ask: () => Failure | undefined, text?: string): Failure | undefined {
    if (!this.isLive && !run.isInside) {
      const entry = this.prefix.nextStop("cut");
      return entry && restoredCut(entry.failure, text);
    }
    const why = ask();
    if (why === undefined || !this.isLive || this.fault !== undefined) return why;
    this.append(run.evaluationId, cutEntry(run, savedFailure(why)));
    return why;
  }

  error(run: Run): EvaluationFailure | undefined {
    return this.fault && runError(run, this.runId, this.fault);
  }

  facts(): RunFacts {
    return Object.freeze({
      id: this.runId,
      attempt: this.attempt,
      keptSteps: this.isReplay ? 0 : stepsIn(this.opened.entries),
    });
  }

  async end(run: Run, outcome: EvaluationOutcome): Promise<EvaluationOutcome> {
    const isSuspended = this.fault?.reason === "suspended";
    const ending = this.#end(run, outcome);
    if ((await limitMetBy(ending, this.#options, this.world.clock)) === undefined) return ending;
    if ("error" in outcome && !isSuspended) return outcome;
    const message = `The run "${this.runId}" has ended, but its journal has not answered in time whether it keeps that.`;
    return { error: runError(run, this.runId, new TapeFault("journal", message)) };
  }

  async #end(run: Run, outcome: EvaluationOutcome): Promise<EvaluationOutcome> {
    this.#stopListening?.();
    await this.rerun?.close();
    try {
      await this.#suspended(run);
      await this.#ended(run, outcome);
    } catch (error) {
      this.fault ??= this.faultOf(error);
    }
    const reason = this.fault?.reason;
    if (reason === "agent" || reason === "state" || reason === "redacted") {
      // The refusal leaves the run as it was.
      if (this.isLive && this.attempt > 1) this.appendAt(this.evaluationId, endedEmpty);
      // What was written after the end would fence who goes on.
      await this.source.flush()?.catch(() => {});
    }
    await this.source.close();
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
    const { waitsFor } = this.decisions;
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
      this.assertMayWait();
      const code = "error" in outcome ? outcome.error.code : undefined;
      const isExecuted = code === undefined;
      const more = {
        ...("error" in outcome ? openEndOf(outcome.error, this.source) : {}),
        ...(run.context === undefined || !isSaved(run.core.session)
          ? {}
          : { leaves: messagesLeft(messagesOf(outcome)) }),
      };
      this.append(run.evaluationId, { kind: "ended", outcome: isExecuted ? "executed" : "failed", ...more });
      this.isOver = true;
      await this.flushed();
      return;
    }
    if (this.isStopped && !this.isReplay) return;
    const left = this.prefix.peek();
    if (left === undefined || (!this.isReplay && "error" in outcome && mayGoOnAfter(outcome.error))) return;
    this.diverge({ what: "extra", path: "", recorded: left.kind, now: undefined });
  }

  async notBegun(error: EvaluationFailure): Promise<EvaluationFailure> {
    this.#stopListening?.();
    await this.rerun?.close();
    await limitMetBy(this.source.close(), this.#options, this.world.clock);
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
}
