// 1. A request holds a reservation in every budget before it is sent, or in none.
// 2. Budgets are asked in one order, the same for all evaluations: no two requests wait for what the other one holds.
import { trackBudget, type Budget, type BudgetTracker, type Deadline, type Pace, type Usage } from "@proviso/core";
import { noUsage, unpricedTokensOf, type BudgetReservation, type EvaluationPhase } from "@proviso/core/internal";
import { differenceOf, noneSpent, sumOf, type Room, type SpentSoFar, type Wanted } from "./budget-room.ts";
import { hiddenField } from "./hidden-field.ts";
import { joinedTracker, partsOf, settleAll } from "./joined-tracker.ts";
import { budgetFailure, isFailure, type Failure } from "./failures.ts";
import { Placed, sharedBudget, type SharedBudget } from "./shared-budget.ts";

/** What a request holds of all budgets. */
export interface Granted {
  settle(actual: Usage): void;
  /** Whether code outside the evaluation has given one of the budgets as a tracker, and may spend from it as well. */
  readonly isShared: boolean;
  /** Whether another request that waits for the tracker waits for this reservation. It holds no pace. */
  holds(what: BudgetTracker | Pace): boolean;
  /**
   * Keeps nothing reserved for now but what the request has spent in all, an estimate: an agent waits for a tool call, or a
   * chain is to ask another model.
   */
  pause(spent: SpentSoFar): void;
  /** Reserves again what is wanted beside what was spent, as soon as there is room. */
  reserveAgain(wanted: Wanted, signal: AbortSignal): Failure | undefined | Promise<Failure | undefined>;
  /** The room under the budget that leaves the least, when it was reserved last; undefined where nothing was wanted. */
  readonly room: Room | undefined;
  /** The room for one more model within what is reserved, after so much has gone in all; undefined where nothing was wanted. */
  roomFor(wanted: Wanted, gone: SpentSoFar): Room | Failure | undefined;
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
  const isShared = around !== undefined || own === given;
  return trackers.length === 0 ? noBudgets : new OpenBudgets(trackers, own, isShared);
}

/** A class: most evaluations have a budget, and a closure for each of these would cost more. */
class OpenBudgets implements Budgets {
  readonly deadline: Deadline | undefined;
  readonly tracker: BudgetTracker | undefined;
  readonly #inDollars: BudgetTracker | undefined;
  readonly #budgets: readonly SharedBudget[];
  readonly #isShared: boolean;

  constructor(trackers: readonly BudgetTracker[], own: BudgetTracker | undefined, isShared: boolean) {
    this.#budgets = trackers.map(sharedBudget);
    this.#isShared = isShared;
    this.#inDollars = trackers.find(({ budget }) => budget.maxCostUsd !== undefined);
    this.deadline = own?.budget.deadline;
    this.tracker = trackers.length > 1 ? joinedTracker(trackers, own) : trackers[0];
  }

  get limitsCost(): boolean {
    return this.#inDollars !== undefined;
  }

  unpriced(usage: Usage): Failure | undefined {
    if (this.#inDollars === undefined || unpricedTokensOf(usage) === 0) return undefined;
    const what = "cannot hold: the answer did not report its cost, and no price is known (give the adapter `pricing`)";
    return budgetFailure(what, "response", { dimension: "cost", tracker: this.#inDollars });
  }

  includes(tracker: BudgetTracker): boolean {
    return this.#budgets.some((budget) => budget.tracker === tracker);
  }

  exceeded(phase: EvaluationPhase): Failure | undefined {
    for (const { tracker } of this.#budgets) {
      const dimension = tracker.exceeded();
      if (dimension !== undefined) return budgetFailure("is spent", phase, { dimension, tracker });
    }
    return undefined;
  }

  exhausted(): Failure | undefined {
    for (const budget of this.#budgets) {
      const dimension = budget.exhausted();
      if (dimension !== undefined) return budgetFailure("is spent", "request", { dimension, tracker: budget.tracker });
    }
    return undefined;
  }

  reserve(wanted: Wanted | undefined, signal: AbortSignal): Grant | Promise<Grant> {
    if (wanted === undefined) return nothingWanted;
    const reserving = reserveIn(this.#budgets, wanted, signal, []);
    return reserving instanceof Promise ? reserving.then((held) => this.#granted(held)) : this.#granted(reserving);
  }

  #granted(held: Holding): Grant {
    return "stop" in held ? held : new GrantedByAll(this.#budgets, held, this.#isShared);
  }
}

/** A budget gets a tracker of its own; a tracker is used as it is. */
export function trackerOf(budget: Budget | BudgetTracker | undefined): BudgetTracker | undefined {
  if (budget === undefined) return undefined;
  return "reserve" in budget ? budget : trackBudget(budget);
}

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

type Holding = readonly Placed[] | Failure;

function reserveIn(
  [budget, ...rest]: readonly SharedBudget[],
  wanted: Wanted,
  signal: AbortSignal,
  held: readonly Placed[],
): Holding | Promise<Holding> {
  if (budget === undefined) return held;
  const add = (got: Placed | Failure): Holding | Promise<Holding> => {
    if (got instanceof Placed)
      return rest.length === 0 ? [...held, got] : reserveIn(rest, wanted, signal, [...held, got]);
    settleAll(held, noUsage);
    return got;
  };
  const giveUp = (error: unknown): never => {
    settleAll(held, noUsage);
    throw error;
  };
  let got: ReturnType<SharedBudget["place"]>;
  try {
    got = budget.place(wanted, signal);
  } catch (error) {
    return giveUp(error);
  }
  return got instanceof Promise ? got.then(add, giveUp) : add(got);
}

/** Holds nothing: there is no budget, or the record has charged for the request already. */
export const nothingWanted: Granted = {
  room: undefined,
  isShared: false,
  settle: () => {},
  holds: () => false,
  pause: () => {},
  reserveAgain: () => undefined,
  roomFor: () => undefined,
};

/** A reservation in each of the budgets. */
class GrantedByAll implements Granted {
  room: Room | undefined;
  readonly isShared: boolean;
  readonly #budgets: readonly SharedBudget[];
  /** All reservations. Those from the beginning are charged, and those since it went on are given back. */
  #held: readonly BudgetReservation[];
  #open: readonly Placed[];
  /** The part of what was spent that stays reserved beside what is open. */
  #kept = noneSpent;
  #isSettled = false;

  constructor(budgets: readonly SharedBudget[], first: readonly Placed[], isShared: boolean) {
    this.isShared = isShared;
    this.#budgets = budgets;
    this.#held = first;
    this.#open = first;
    this.room = leastRoom(first);
  }

  holds(what: BudgetTracker | Pace): boolean {
    return this.#open.some((one) => one.room.tracker === what);
  }

  settle(actual: Usage): void {
    this.#isSettled = true;
    this.#open = nothingHeld;
    // Charged first: each settlement serves those who wait, and they must not get what is spent already.
    settleAll(this.#held, actual);
  }

  pause(spent: SpentSoFar): void {
    const more = differenceOf(spent, this.#kept);
    for (const placed of this.#open) placed.shrink(more);
    this.#kept = sumOf(this.#kept, more);
    this.#open = nothingHeld;
  }

  reserveAgain(wanted: Wanted, signal: AbortSignal): Failure | undefined | Promise<Failure | undefined> {
    const reserving = reserveIn(this.#budgets, { ...wanted, spent: this.#kept }, signal, []);
    return reserving instanceof Promise ? reserving.then((got) => this.#hold(got)) : this.#hold(reserving);
  }

  #hold(got: Holding): Failure | undefined {
    if ("stop" in got) return got;
    if (this.#isSettled) {
      settleAll(got, noUsage);
      return undefined;
    }
    this.#held = [...this.#held, ...got.map((placed) => ({ settle: () => placed.settle(noUsage) }))];
    this.#open = got;
    this.room = leastRoom(got);
    return undefined;
  }

  roomFor(wanted: Wanted, gone: SpentSoFar): Room | Failure | undefined {
    const since = differenceOf(gone, this.#kept);
    const rooms: { readonly room: Room }[] = [];
    for (const placed of this.#open) {
      const room = placed.roomFor(wanted, since);
      if (isFailure(room)) return room;
      rooms.push({ room });
    }
    return leastRoom(rooms);
  }
}

function leastRoom(held: readonly { readonly room: Room }[]): Room | undefined {
  let least: Room | undefined;
  for (const { room } of held) if (least === undefined || room.tokens < least.tokens) least = room;
  return least;
}

const nothingHeld: readonly Placed[] = Object.freeze([]);
