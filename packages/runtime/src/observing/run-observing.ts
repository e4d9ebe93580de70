import type { AppEvent, FrameworkEvent, Message, Step, ToolCall } from "@proviso/core";
import type { Run } from "../run.ts";
import type { Transaction } from "../transactions/transaction.ts";
import { changesOfCalls } from "./changes.ts";
import type { Observing } from "./contract.ts";
import type { Observers } from "./observers.ts";
import { callEach, runAround, type Observed } from "./passing.ts";

/** Calls the observers of one evaluation. */
export class RunObserving implements Observing, Observed {
  readonly takesEvents: boolean;
  readonly takesChanges: boolean;
  readonly surrounds: boolean;
  readonly #run: Run;
  readonly #observers: Observers;

  constructor(run: Run, observers: Observers) {
    this.#run = run;
    this.#observers = observers;
    this.takesEvents = observers.takesEvents;
    this.takesChanges = observers.takesChanges;
    this.surrounds = observers.surrounds;
  }

  /** The secrets become more where an evaluation inside has others. */
  log(...entry: Parameters<Run["log"]>): void {
    this.#run.log(...entry);
  }
  hide<T>(value: T): T {
    return this.#run.redaction.value(value);
  }

  uses(type: FrameworkEvent["type"]): boolean {
    return this.#observers.uses(type);
  }
  event(event: FrameworkEvent): void {
    callEach(this.#observers, this, "event", (one) => one.event?.(event));
  }
  app(event: AppEvent): void {
    if (!this.#observers.takesAppEvents) return;
    const { core, evaluationId } = this.#run;
    const of = Object.freeze({ sessionId: core.session.id, evaluationId });
    callEach(this.#observers, this, "app", (one) => one.app?.(event, of));
  }
  changed(transaction: Transaction, undone: boolean, calls?: readonly string[]): void {
    if (!this.takesChanges) return;
    const changes = changesOfCalls(this.#run, transaction, undone, calls);
    if (changes !== undefined) callEach(this.#observers, this, "changed", (one) => one.changed?.(changes));
  }

  aroundRequest<T>(attempt: number, messages: readonly Message[], work: () => T | Promise<T>): T | Promise<T> {
    const { evaluationId, turn } = this.#run;
    return this.#around(
      {
        kind: "request",
        evaluationId,
        turn,
        attempt,
        messages: () => this.#run.redaction.details({ messages }).messages,
      },
      work,
    );
  }
  aroundCall<T>({ id: callId, name }: ToolCall, work: () => T | Promise<T>): T | Promise<T> {
    const { evaluationId, turn } = this.#run;
    return this.#around({ kind: "tool", evaluationId, turn, callId, name }, work);
  }

  #around<T>(step: Step, work: () => T | Promise<T>): T | Promise<T> {
    return runAround(this.#observers, this, Object.freeze(step), work);
  }
}
