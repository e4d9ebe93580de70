import type { BudgetTracker, Deadline, Usage } from "@proviso/core";
import type { EvaluationPhase } from "@proviso/core/internal";
import type { Wanted } from "../budget-room.ts";
import { nothingWanted, type Granted } from "../budgets.ts";
import { failure, isFailure, type Failure, type LimitFailure, type OnStop } from "../failures.ts";
import type { Limits } from "../limits.ts";
import { stoppedTurn } from "./kept-turn.ts";

/** Where a limit was met: only the same question gets it again from a record. */
export type Asked = "check" | "checkRequest" | "unpriced" | "reserve" | "stopped" | "race";

/** How a record answers for limits. */
export interface LimitRecord {
  /** Whether all comes from the record: the limits themselves are not asked. */
  readonly isReplay: boolean;
  /** Whether nothing can come from the record any more. */
  readonly isLive: boolean;
  /** Whether others spend from the budget, too: it was charged for the recorded requests already. */
  readonly isShared: boolean;
  /** Whether the record has more that the evaluation comes to: a budget of today is not asked about that. */
  goesOn(): boolean;
  /** Takes a limit that the record says was met by this question now; undefined: none. */
  takeStop(by: Asked): Failure | undefined;
  /** Takes a limit that was met now: the record has it where it ends. */
  recordStop(by: Asked, why: Failure): void;
  /**
   * What earlier attempts spent that the evaluation does not come to again, for its own budget, once; undefined: nothing
   * more.
   */
  spentBefore(): Usage | undefined;
}

/** Limits whose end is in the record of a run: a replay meets them where they were met. */
export class RecordedLimits implements Limits {
  readonly #limits: Limits;
  readonly #record: LimitRecord;
  /** The limit that a replay has met. */
  #met: Failure | undefined;

  constructor(limits: Limits, record: LimitRecord) {
    this.#limits = limits;
    this.#record = record;
  }

  get unrecorded(): Limits {
    return this.#limits;
  }
  get signal(): AbortSignal {
    return this.#limits.signal;
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
    return this.#asked("check", phase, () => this.#limits.check(phase));
  }
  checkRequest(): Failure | undefined {
    return this.#asked("checkRequest", "request", () => this.#limits.checkRequest());
  }
  unpriced(usage: Usage): Failure | undefined {
    return this.#asked("unpriced", "response", () => this.#limits.unpriced(usage));
  }
  spendsFrom(tracker: BudgetTracker): boolean {
    return this.#limits.spendsFrom(tracker);
  }
  stopped(phase: EvaluationPhase): LimitFailure | undefined {
    return this.#asked("stopped", phase, () => this.#limits.stopped(phase)) as LimitFailure | undefined;
  }

  meetDeadline(): LimitFailure | undefined {
    return this.#limits.meetDeadline();
  }

  reserve(wanted: Wanted | undefined): Granted | Failure | Promise<Granted | Failure> {
    // A limit may have been met while the request waited for room, which a replay does not.
    const before = this.#fromRecord("reserve", "request") ?? this.#fromRecord("race", "request");
    if (before !== undefined) return before;
    if (this.#record.goesOn()) return this.#answeredByRecord();
    this.#charge();
    const granting = this.#limits.reserve(wanted);
    return granting instanceof Promise ? granting.then((granted) => this.#granted(granted)) : this.#granted(granting);
  }

  /** A request that the record answers finds room in any budget, and costs what it has cost. */
  #answeredByRecord(): Granted {
    const { budget } = this.#limits;
    if (budget === undefined || this.#record.isShared) return nothingWanted;
    return { ...nothingWanted, settle: (actual) => charge(budget, actual) };
  }

  race<T>(work: Promise<T>, phase: EvaluationPhase, onStop?: OnStop): Promise<T | LimitFailure> {
    const before = this.#fromRecord("race", phase) as LimitFailure | undefined;
    if (before !== undefined) {
      work.catch(() => {});
      return new Promise((resolve) => resolve(onStop?.(before) ?? before));
    }
    const racing = this.#limits.race(work, phase, (fired) => {
      const stopped = onStop?.(fired) ?? fired;
      this.#record.recordStop("race", stopped);
      return stopped;
    });
    // Only the turn of an agent that is read from a record ends like that; else there is one promise less.
    if (this.#record.isLive) return racing;
    return racing.then((ended) =>
      (ended as unknown) === stoppedTurn ? (this.#fromRecord("race", phase) as LimitFailure) : ended,
    );
  }

  close(): void {
    this.#limits.close();
  }

  /** Whether the limits alone decide. */
  #isLive(): boolean {
    return this.#met === undefined && this.#record.isLive;
  }

  #granted(granted: Granted | Failure): Granted | Failure {
    if (isFailure(granted)) this.#record.recordStop("reserve", granted);
    return granted;
  }

  #asked(by: Asked, phase: EvaluationPhase, ask: () => Failure | undefined): Failure | undefined {
    if (!this.#isLive()) {
      const before = this.#fromRecord(by, phase);
      if (before !== undefined || this.#record.isReplay) return before;
    }
    const why = this.#record.goesOn() ? this.#limits.stopped(phase) : this.#askedNow(ask);
    if (why !== undefined) this.#record.recordStop(by, why);
    return why;
  }

  #askedNow(ask: () => Failure | undefined): Failure | undefined {
    this.#charge();
    return ask();
  }

  #charge(): void {
    const spent = this.#record.spentBefore();
    if (spent !== undefined && this.#limits.budget !== undefined) charge(this.#limits.budget, spent);
  }

  #fromRecord(by: Asked, phase: EvaluationPhase): Failure | undefined {
    if (this.#isLive()) return undefined;
    this.#met ??= this.#record.takeStop(by);
    if (this.#met === undefined) return undefined;
    return isLimit(this.#met) || by === "check" || by === "checkRequest" || by === "reserve" || by === "unpriced"
      ? { ...this.#met, phase }
      : undefined;
  }
}

function charge(budget: BudgetTracker, spent: Usage): void {
  budget.reserve({ inputTokens: 0, outputTokens: 0 })?.settle(spent);
}

function isLimit({ stop }: Failure): boolean {
  return stop === "deadline" || stop === "aborted";
}

/** A limit's failure as plain JSON. */
export function savedFailure(why: Failure): unknown {
  const { stop, phase, message } = why;
  if (why.stop === "deadline") return { stop, phase, message, expiresAt: why.expiresAt.getTime() };
  if (why.stop === "budget") {
    const { dimension, limit, spent, reserved, wanted } = why;
    return { stop, phase, message, dimension, limit, spent, reserved, wanted };
  }
  return { stop, phase, message };
}

interface SavedFailure {
  readonly stop: Failure["stop"];
  readonly phase: EvaluationPhase;
  readonly message: string;
  /** Epoch milliseconds. */
  readonly expiresAt?: number;
}

/** The failure that was saved; its cause is gone. */
export function restoredFailure(saved: unknown): Failure {
  const { stop, phase, message, expiresAt = 0, ...state } = saved as SavedFailure;
  const base = { phase, message };
  if (stop === "deadline") return failure({ stop: "deadline", expiresAt: new Date(expiresAt), ...base });
  if (stop === "budget") return failure({ ...state, stop: "budget", tracker: undefined, ...base } as never);
  return failure({ stop: "aborted", ...base });
}
