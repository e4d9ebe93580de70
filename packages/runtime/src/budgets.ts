// 1. A request holds a reservation in every budget before it is sent, or in none.
// 2. Budgets are asked in one order, the same for all evaluations: no two requests wait for what the other one holds.
import {
  trackBudget,
  type Budget,
  type BudgetDimension,
  type BudgetTracker,
  type Deadline,
  type Usage,
} from "@proviso/core";
import { noUsage, type BudgetAmounts, type BudgetReservation, type EvaluationPhase } from "@proviso/core/internal";
import { queueOf, type SpentSoFar } from "./budget-queue.ts";
import { exhausted, placed, placedBeside, type Placed, type Room, type Wanted } from "./budget-room.ts";
import { isInRequestOn } from "./transactions/async-context.ts";
import { hiddenField } from "./hidden-field.ts";
import { budgetFailure, isFailure, type Failure } from "./failures.ts";

/** What a request holds of all budgets. */
export interface Granted {
  settle(actual: Usage): void;
  /** Whether another request that waits for the tracker waits for this reservation. */
  holds(tracker: BudgetTracker): boolean;
  /** Shrinks the reservation to what was spent so far, an estimate: an agent waits for a tool call. */
  pause(spent: SpentSoFar): void;
  /** Reserves again what the agent wants beside what was spent, as soon as there is room. */
  goOn(wanted: Wanted, signal: AbortSignal): Failure | undefined | Promise<Failure | undefined>;
  /** The room under the budget that leaves the least; undefined where nothing was wanted. */
  readonly room: Room | undefined;
}

type Grant = Granted | Failure;

/** An evaluation's own budget and those around it: all are spent from, all hold. */
export interface Budgets {
  readonly deadline: Deadline | undefined;
  /** All budgets as one tracker, for code that may look at what is left. */
  readonly tracker: BudgetTracker | undefined;
  readonly limitsCost: boolean;
  /** Why a usage without a cost cannot be held against a limit in dollars, where there is one. */
  unpriced(usage: Usage): Failure | undefined;
  includes(tracker: BudgetTracker): boolean;
  exceeded(phase: EvaluationPhase): Failure | undefined;
  /**
   * Returns a failure where nothing is left, apart from all reservations: a request would only begin to pass the limit.
   */
  exhausted(): Failure | undefined;
  /** Reserves what a request wants; waits for others where it does not fit beside them. undefined: it wants nothing. */
  reserve(wanted: Wanted | undefined, signal: AbortSignal): Grant | Promise<Grant>;
}

/** What an evaluation without a budget has, and those around it have none. */
const noBudgets: Budgets = Object.freeze({
  deadline: undefined,
  tracker: undefined,
  limitsCost: false,
  unpriced: () => undefined,
  includes: () => false,
  exceeded: () => undefined,
  exhausted: () => undefined,
  reserve: () => nothingWanted,
});

/** @throws {DefinitionError} for a budget without a limit, or with one that is not positive. */
export function openBudgets(given: Budget | BudgetTracker | undefined, around?: Budget | BudgetTracker): Budgets {
  const own = trackerOf(given);
  const trackers = inOrder(own, trackerOf(around));
  if (trackers.length === 0) return noBudgets;
  const inDollars = trackers.find(({ budget }) => budget.maxCostUsd !== undefined);
  const stopAt = (
    phase: EvaluationPhase,
    dimensionOf: (tracker: BudgetTracker) => BudgetDimension | undefined,
  ): Failure | undefined => {
    for (const tracker of trackers) {
      const dimension = dimensionOf(tracker);
      if (dimension !== undefined) return budgetFailure("is spent", phase, { dimension, tracker });
    }
    return undefined;
  };
  return {
    deadline: own?.budget.deadline,
    tracker: trackers.length > 1 ? joined(trackers, own) : trackers[0],
    limitsCost: inDollars !== undefined,
    unpriced({ costUsd, totalTokens }) {
      if (inDollars === undefined || costUsd !== undefined || totalTokens === 0) return undefined;
      const what =
        "cannot hold: the answer did not report its cost, and no price is known (give the adapter `pricing`)";
      return budgetFailure(what, "response", { dimension: "cost", tracker: inDollars });
    },
    includes: (tracker) => trackers.includes(tracker),
    exceeded: (phase) => stopAt(phase, (tracker) => tracker.exceeded()),
    exhausted: () => stopAt("request", exhausted),
    reserve(wanted, signal) {
      if (wanted === undefined) return nothingWanted;
      const reserving = reserveIn(trackers, wanted, signal, []);
      const grant = (held: readonly Placed[] | Failure): Grant => (isFailure(held) ? held : granted(trackers, held));
      return reserving instanceof Promise ? reserving.then(grant) : grant(reserving);
    },
  };
}

/** A budget gets a tracker of its own; a tracker is used as it is. */
export function trackerOf(budget: Budget | BudgetTracker | undefined): BudgetTracker | undefined {
  if (budget === undefined) return undefined;
  return "reserve" in budget ? budget : trackBudget(budget);
}

/** The trackers behind one that was joined here: a nested evaluation gets it as what is around it. */
const parts = hiddenField<readonly BudgetTracker[]>();
const numbers = hiddenField<number>();
let numbered = 0;

/** Each tracker once, in the order in which they were first seen here beside others. */
function inOrder(own: BudgetTracker | undefined, around: BudgetTracker | undefined): readonly BudgetTracker[] {
  if (own === undefined || around === undefined) return partsOf(own ?? around);
  const trackers = [...partsOf(own), ...partsOf(around)];
  for (const tracker of trackers) if (numbers.of(tracker) === undefined) numbers.set(tracker, ++numbered);
  const numberOf = (tracker: BudgetTracker): number => numbers.of(tracker) ?? 0;
  return [...new Set(trackers)].sort((a, b) => numberOf(a) - numberOf(b));
}

/** The budgets behind one tracker; none where there is no tracker. */
export function partsOf(tracker: BudgetTracker | undefined): readonly BudgetTracker[] {
  return tracker === undefined ? [] : (parts.of(tracker) ?? [tracker]);
}

type Holding = readonly Placed[] | Failure;

function reserveIn(
  [tracker, ...rest]: readonly BudgetTracker[],
  wanted: Wanted,
  signal: AbortSignal,
  held: readonly Placed[],
): Holding | Promise<Holding> {
  if (tracker === undefined) return held;
  const goOn = (got: Placed | Failure): Holding | Promise<Holding> => {
    if (!isFailure(got)) return reserveIn(rest, wanted, signal, [...held, got]);
    settleAll(held, noUsage);
    return got;
  };
  // Waiting for the request in whose code this one begins would be waiting for itself; so would standing behind others.
  const got = isInRequestOn(tracker)
    ? placedBeside(tracker, wanted)
    : queueOf(tracker).inTurn(() => placed(tracker, wanted), signal);
  if (!(got instanceof Promise)) return goOn(got);
  return got.then(goOn, (error: unknown) => {
    settleAll(held, noUsage);
    throw error;
  });
}

function settleAll(held: readonly Placed[], usage: Usage): void {
  for (const { reservation } of held) reservation.settle(usage);
}

/** Where there is no budget. */
const nothingWanted: Granted = {
  room: undefined,
  settle: () => {},
  holds: () => false,
  pause: () => {},
  goOn: () => undefined,
};

function granted(trackers: readonly BudgetTracker[], first: readonly Placed[]): Granted {
  let room: Room | undefined;
  for (const one of first) if (room === undefined || one.room.tokens < room.tokens) ({ room } = one);
  /** Held since it went on. */
  const later: Placed[] = [];
  let open = first;
  let isSettled = false;
  const hold = (got: Holding): Failure | undefined => {
    if (isFailure(got)) return got;
    if (isSettled) {
      settleAll(got, noUsage);
      return undefined;
    }
    later.push(...got);
    open = got;
    return undefined;
  };
  return {
    room,
    holds: (tracker) => open.some((one) => one.room.tracker === tracker),
    settle(actual) {
      isSettled = true;
      open = [];
      // Charged first: each settlement serves those who wait, and they must not get what is spent already.
      settleAll(first, actual);
      settleAll(later, noUsage);
    },
    pause(spent) {
      for (const { reservation } of open) reservation.shrink(spent);
      open = [];
    },
    goOn(wanted, signal) {
      const reserving = reserveIn(trackers, wanted, signal, []);
      return reserving instanceof Promise ? reserving.then(hold) : hold(reserving);
    },
  };
}

function joined(trackers: readonly BudgetTracker[], own: BudgetTracker | undefined): BudgetTracker {
  const all = new JoinedTracker(trackers, own);
  parts.set(all, trackers);
  return all;
}

/** `consumed` and `budget` are those of the evaluation's own tracker, where it has one. */
class JoinedTracker implements BudgetTracker {
  readonly budget: Budget;
  readonly #shown: BudgetTracker;
  readonly #trackers: readonly BudgetTracker[];

  constructor(trackers: readonly BudgetTracker[], own: BudgetTracker | undefined) {
    this.#trackers = trackers;
    this.#shown = own ?? (trackers[0] as BudgetTracker);
    this.budget = this.#shown.budget;
  }

  get consumed(): Usage {
    return this.#shown.consumed;
  }

  remaining(): BudgetAmounts {
    return {
      totalTokens: this.#least("totalTokens"),
      inputTokens: this.#least("inputTokens"),
      outputTokens: this.#least("outputTokens"),
      costUsd: this.#least("costUsd"),
    };
  }

  exceeded(): BudgetDimension | undefined {
    return this.#trackers.map((tracker) => tracker.exceeded()).find((dimension) => dimension !== undefined);
  }

  reserve(worstCase: Parameters<BudgetTracker["reserve"]>[0]): BudgetReservation | undefined {
    const held: BudgetReservation[] = [];
    for (const tracker of this.#trackers) {
      const reservation = tracker.reserve(worstCase);
      if (reservation === undefined) {
        for (const other of held) other.settle(noUsage);
        return undefined;
      }
      held.push(reservation);
    }
    return { settle: (actual) => held.forEach((reservation) => reservation.settle(actual)) };
  }

  #least(amount: keyof BudgetAmounts): number {
    return Math.min(...this.#trackers.map((tracker) => tracker.remaining()[amount]));
  }
}
