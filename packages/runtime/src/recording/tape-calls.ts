// The calls of a recorded evaluation: those that the record answers, and those that run, with what is decided on them.
import type { PolicyDecision, Suspension, ToolCall, ToolReturn } from "@proviso/core";
import { after } from "@proviso/core/internal";
import type { Unsent } from "../failures.ts";
import type { Run } from "../run.ts";
import type { Transaction, TransactionOptions } from "../transactions/transaction.ts";
import type { EndedCall, HandlerParts, KeptCalls, PolicyQuestion } from "./contract.ts";
import { canWait, Decisions, suspendedFault } from "./decisions.ts";
import { deltaOf } from "./deltas.ts";
import { Dispatches } from "./dispatches.ts";
import { TapeFault } from "./fault.ts";
import { recordedHandler } from "./handler.ts";
import { emitEntry, emitUndone, endsWithin, keptCalls, type Delivery } from "./kept-calls.ts";
import { Rerun, type EvaluateAgain } from "./rerun.ts";
import { TapeAnswers } from "./tape-answers.ts";

/** The id of the run's own call that a call is, or is inside of. */
function ownCallOf(run: Run, { id }: ToolCall): string {
  let [callId, { nesting }] = [id, run];
  for (; nesting !== undefined; { nesting } = nesting.run) callId = nesting.callId ?? callId;
  return callId;
}

export class TapeCalls extends TapeAnswers {
  protected readonly decisions = new Decisions(this.runId, this.opened.suspended ?? [], () => this.clock.now());

  /** The id of the run's own call for which it waits, or inside of which something waits; undefined: it does not wait. */
  #suspendedCall: string | undefined;

  /** Runs the calls of a replay again; undefined: they are answered from the record. */
  protected rerun: Rerun | undefined;

  runAgain(evaluate: EvaluateAgain): void {
    // An agent's calls are part of its turn.
    const isAgent = this.opened.entries.some((entry) => entry.kind === "asked" && entry.isAgent === true);
    if (this.source.runsTools !== true || isAgent) return;
    this.rerun = new Rerun(this.source, this.opened, this.world, evaluate);
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
    if (this.lasting) await run.endAttempt?.();
    await this.#runAgain(run, calls);
    const delivery: Delivery = { ...this.deliveryTo(run), passed: (entry) => this.#passed(entry) };
    const kept = await keptCalls(run, calls, this.prefix, delivery);
    if (typeof kept === "object" && "fault" in kept) return this.fail(new TapeFault("state", kept.fault));
    if (this.prefix.isEmpty()) {
      // What a limit ends here has added nothing to the record.
      const stop = kept && run.limits.check("tool");
      if (kept !== undefined && stop !== undefined) return { ...kept, stop };
      this.goLiveUnlessEnded();
    } else this.prefix.passResumption();
    if (kept === undefined || kept.answers.includes(undefined)) {
      if (this.isReplay) await this.#suspendedAgain(run, delivery);
      // What a call left that has no end yet is no other call: the record ends while it runs.
      const isCut = this.isReplay && endsWithin(run, calls, this.prefix);
      if (isCut || this.prefix.peek() === undefined) this.goLive();
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

  /** @throws where a call does not come to what the record has. */
  async #runAgain(run: Run, calls: readonly ToolCall[]): Promise<void> {
    const { rerun } = this;
    if (rerun === undefined) return;
    await rerun.callsOf(run.turn);
    if (rerun.failure !== undefined) {
      const why = `its calls cannot run again: ${rerun.failure.message}`;
      this.fail(new TapeFault("state", `The run "${this.runId}" cannot be replayed: ${why}`));
    }
    for (const [place, { id }] of calls.entries()) {
      const difference = rerun.differenceOf(run.turn, id);
      if (difference !== undefined) this.diverge(difference, place + 1);
    }
  }

  /** An agent streamed while its call ran, or a limit ended its turn. */
  #passed(entry: Parameters<NonNullable<Delivery["passed"]>>[0]): void {
    if (entry.kind === "delta") this.onDelta?.(deltaOf(entry));
    else if (entry.produced !== undefined) this.turn?.hasProduced(entry.produced);
  }

  /** @throws where the calls that are about to run would not get what the model asked for. */
  #assertArguments(): void {
    if (!this.answerIsRedacted) return;
    const why = "the arguments of a call that has not run yet were hidden";
    this.fail(new TapeFault("redacted", `The run "${this.runId}" cannot go on: ${why}.`));
  }

  /** A replay ends where the run was suspended. */
  async #suspendedAgain(run: Run, delivery: Delivery): Promise<void> {
    const rest = this.prefix.entries.slice(this.prefix.at);
    const suspended = rest.find((entry) => entry.kind === "suspended");
    if (suspended === undefined) return;
    const dispatches = new Dispatches(rest, delivery.run.core, () => false);
    const own = { ...delivery, dispatches };
    for (const entry of rest) {
      delivery.timed(entry.at);
      // What calls of the attempt dispatched counts before the evaluation ends.
      if (entry.kind === "suspended") await run.endAttempt?.();
      const isUndone = entry.kind === "event" && (entry.evaluationId !== this.evaluationId || "callId" in entry.event);
      if (isUndone && entry.event.type !== "run.suspended") emitUndone(entry, own);
      else emitEntry(entry, own);
    }
    this.fail(suspendedFault(this.runId, suspended.pending, ""));
  }

  handler<Invocation>(run: Run, parts: HandlerParts<Invocation>): Invocation | Promise<Invocation> {
    return recordedHandler(this, run, parts);
  }

  over(): undefined {
    return undefined;
  }

  feedback(): undefined {
    return undefined;
  }

  keyOf(): undefined {
    return undefined;
  }

  decided(run: Run, question: PolicyQuestion): PolicyDecision | undefined {
    return this.decisions.decided(run, question, this.isInTurn);
  }

  decidedResult(run: Run, call: ToolCall): ToolReturn<unknown> | undefined {
    return this.decisions.result(run, call, this.isInTurn);
  }

  suspend(run: Run, question: PolicyQuestion, later: Suspension): void {
    this.assertNoFault();
    if (!canWait(run) || (this.isInTurn && this.effects.staysOfTurn)) return;
    this.#suspendedCall = ownCallOf(run, question.call);
    this.fail(this.decisions.suspend(run, question, later, this.isInTurn));
  }

  standsBeside(run: Run, { id }: ToolCall): boolean {
    const { reason } = this.fault ?? {};
    return reason === "suspended" && this.isLive && !run.isInside && !this.isInTurn && id !== this.#suspendedCall;
  }

  keeping<T>(run: Run, { call, stop, cause }: EndedCall, record: () => T | Promise<T>): T | Promise<T> {
    const { fault } = this;
    const hasEnded = stop === undefined && !(cause instanceof TapeFault);
    if (fault === undefined || !hasEnded || !this.standsBeside(run, call)) return record();
    this.fault = undefined;
    const suspendAgain = (): void => void (this.fault ??= fault);
    const recording = after(undefined, record);
    if (recording instanceof Promise) return recording.finally(suspendAgain);
    suspendAgain();
    return recording;
  }

  succeeded(run: Run, call: ToolCall, transaction: Transaction): void {
    if (!run.isInside && this.fault === undefined) this.effects.succeeded(run, call, transaction);
  }

  committing(run: Run, transaction: Transaction): Promise<void> | undefined {
    return this.fault === undefined ? this.effects.committing(run, transaction) : undefined;
  }

  committed(run: Run, transaction: Transaction): Promise<void> | undefined {
    // A resource may have joined while the call ran.
    const isLasting = transaction.snapshots.some(({ resource }) => resource.durable === true);
    const ending = isLasting ? this.#endAttempt(run) : undefined;
    if (ending === undefined) return this.effects.committed(run, transaction);
    return ending.then(() => this.effects.committed(run, transaction));
  }

  endingAttempt(run: Run, resources: TransactionOptions["resources"]): Promise<void> | undefined {
    const isLasting = resources.some(({ mode, resource }) => mode === "write" && resource.durable === true);
    return isLasting ? this.#endAttempt(run) : undefined;
  }

  /** The evaluation does not begin again from here on: the record says so, since a replay has no resources. */
  #endAttempt(run: Run): Promise<void> | undefined {
    if (run.isInside || run.endAttempt === undefined) return undefined;
    if (this.isLive) this.append(run.evaluationId, { kind: "lasting" });
    return run.endAttempt();
  }

  unsent(run: Run, refused?: Unsent): Unsent | undefined {
    if (run.isInside) return refused;
    if (refused === undefined) {
      const entry = this.isLive ? undefined : this.prefix.nextStop("unsent");
      return entry && (entry.failure as Unsent);
    }
    if (this.isLive && this.fault === undefined) {
      this.append(run.evaluationId, { kind: "stopped", by: "unsent", failure: refused });
    }
    return refused;
  }
}
