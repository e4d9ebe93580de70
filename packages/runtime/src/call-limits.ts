import type { BudgetTracker, Deadline, Usage } from "@proviso/core";
import type { EvaluationPhase } from "@proviso/core/internal";
import { onAbort } from "./abort.ts";
import type { Wanted } from "./budget-room.ts";
import type { Granted } from "./budgets.ts";
import { abortedFailure, type Failure, type LimitFailure, type OnStop } from "./failures.ts";
import type { Limits } from "./limits.ts";

/** The limits of the calls that an agent makes: those of its evaluation, and they end as well where its turn has failed. */
export class CallLimits implements Limits {
  readonly #limits: Limits;
  readonly #controller = new AbortController();
  readonly #failing = Promise.withResolvers<undefined>();
  readonly #stopListening: () => void;
  /** Why the turn has failed; undefined: it has not. */
  #failed: LimitFailure | undefined;

  constructor(limits: Limits) {
    this.#limits = limits;
    this.#stopListening = onAbort(limits.signal, (reason) => this.#controller.abort(reason));
  }

  /** The turn has failed: what its calls still do counts for nothing. */
  fail(cause: unknown): void {
    const why = abortedFailure(cause, "tool");
    this.#failed ??= { ...why, message: "The turn of the agent has failed." };
    this.#controller.abort(new DOMException(this.#failed.message, "AbortError"));
    this.#failing.resolve(undefined);
  }

  get hasFailed(): boolean {
    return this.#failed !== undefined;
  }
  get signal(): AbortSignal {
    return this.#controller.signal;
  }
  get deadline(): Deadline | undefined {
    return this.#limits.deadline;
  }
  get budget(): BudgetTracker | undefined {
    return this.#limits.budget;
  }
  get limitsCost(): boolean {
    return this.#limits.limitsCost;
  }

  check(phase: EvaluationPhase): Failure | undefined {
    return this.#limits.check(phase) ?? this.#failedIn(phase);
  }
  checkRequest(): Failure | undefined {
    return this.#limits.checkRequest() ?? this.#failedIn("request");
  }
  unpriced(usage: Usage): Failure | undefined {
    return this.#limits.unpriced(usage);
  }
  spendsFrom(tracker: BudgetTracker): boolean {
    return this.#limits.spendsFrom(tracker);
  }
  reserve(wanted: Wanted | undefined): Granted | Failure | Promise<Granted | Failure> {
    return this.#limits.reserve(wanted);
  }
  stopped(phase: EvaluationPhase): LimitFailure | undefined {
    return this.#limits.stopped(phase) ?? this.#failedIn(phase);
  }
  meetDeadline(): LimitFailure | undefined {
    return this.#limits.meetDeadline();
  }

  async race<T>(work: Promise<T>, phase: EvaluationPhase, onStop?: OnStop): Promise<T | LimitFailure> {
    const ended = work.then((value) => ({ value }));
    const first = await this.#limits.race(Promise.race([ended, this.#failing.promise]), phase, onStop);
    if (first !== undefined) return "stop" in first ? first : first.value;
    const failed = this.#failedIn(phase) as LimitFailure;
    return onStop?.(failed) ?? failed;
  }

  /** Leaves no listener behind. */
  close(): void {
    this.#stopListening();
  }

  #failedIn(phase: EvaluationPhase): LimitFailure | undefined {
    return this.#failed && { ...this.#failed, phase };
  }
}
