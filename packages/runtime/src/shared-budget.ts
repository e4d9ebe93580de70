// 1. Waiting requests are served in the order of arrival, so a large request does not wait for ever. Only a request that
//    begins in the code of another one, and cannot wait for it, overtakes: it does not enter the queue.
// 2. A request waits only while a reservation of this process is open; each that settles serves the waiting ones. That of an
//    agent whose call runs is not open: the call may wait for anything, also for what would wait for it.
import type { BudgetDimension, BudgetTracker } from "@proviso/core";
import { noUsage, type BudgetAmounts, type BudgetReservation } from "@proviso/core/internal";
import {
  atMost,
  leftAfter,
  leftOf,
  noneSpent,
  refused,
  roomIn,
  unspent,
  type Room,
  type SpentSoFar,
  type Wanted,
} from "./budget-room.ts";
import type { Failure } from "./failures.ts";
import { hiddenField } from "./hidden-field.ts";
import { isInRequestOn } from "./transactions/async-context.ts";

const sharedBudgets = hiddenField<SharedBudget>();

/** Returns the budget of a tracker. Each tracker has one, also a tracker that the application made. */
export function sharedBudget(tracker: BudgetTracker): SharedBudget {
  let budget = sharedBudgets.of(tracker);
  if (budget === undefined) sharedBudgets.set(tracker, (budget = new SharedBudget(tracker)));
  return budget;
}

/** A tracker with the requests of this process that it has room for, and those that wait for it. */
export class SharedBudget {
  readonly tracker: BudgetTracker;
  /** How many reservations are open. */
  #open = 0;
  /** Each returns whether it has got what it waits for. */
  readonly #waiting = new Set<() => boolean>();
  /** The most that a request without a known price was reported to have cost, US dollars; undefined: none has cost anything. */
  #dearestUsd: number | undefined;

  constructor(tracker: BudgetTracker) {
    this.tracker = tracker;
  }

  /**
   * Reserves what is wanted, in turn, as soon as it fits beside other reservations; without them it takes what is left,
   * down to the least. What does not fit even then is refused. A request that begins in the code of one that holds
   * something of this budget does not wait: it would wait for itself. Rejects with the signal's reason when the signal
   * aborts.
   */
  place(wanted: Wanted, signal: AbortSignal): Placed | Failure | Promise<Placed | Failure> {
    if (isInRequestOn(this.tracker)) return this.#placedBeside(wanted);
    const first = this.#waiting.size === 0 ? this.#placed(wanted) : undefined;
    return first ?? this.#placedInTurn(wanted, signal);
  }

  /** The limit that nothing is left of, whatever is reserved. */
  exhausted(): BudgetDimension | undefined {
    const { budget, consumed } = this.tracker;
    if (!(leftOf(budget.maxTotalTokens, consumed.totalTokens) > 0)) return "total_tokens";
    if (!(leftOf(budget.maxInputTokens, consumed.inputTokens) > 0)) return "input_tokens";
    if (!(leftOf(budget.maxOutputTokens, consumed.outputTokens) > 0)) return "output_tokens";
    return leftOf(budget.maxCostUsd, consumed.costUsd ?? 0) > 0 ? undefined : "cost";
  }

  /** A request without a known price has cost so much: the next ones hold that. A request that cost nothing is not counted. */
  learnCost(usd: number): void {
    if (usd > 0) this.#dearestUsd = Math.max(this.#dearestUsd ?? 0, usd);
  }

  /** A reservation has ended. */
  reservationEnded(): void {
    this.#open -= 1;
  }

  /** Lets the waiting requests try again, in their order, until one of them has to go on waiting. */
  serve(): void {
    for (const isServed of this.#waiting) if (!isServed()) break;
  }

  /** undefined: it does not fit beside other reservations, so it is to try again when one of them settles. */
  #placed(wanted: Wanted): Placed | Failure | undefined {
    const left = this.tracker.remaining();
    const room = roomIn(left, wanted, this.tracker);
    if (!(room.tokens >= wanted.outputTokens) || !(left.costUsd >= (this.#unpricedUsd(wanted) ?? 0))) {
      const leftAlone = leftAfter(unspent(this.tracker), noneSpent, wanted.spent ?? noneSpent);
      const alone = roomIn(leftAlone, wanted, this.tracker);
      if (!(alone.tokens >= wanted.leastOutputTokens)) return refused(alone, wanted);
      if (this.#open > 0) return undefined;
    }
    return this.#taken(room, wanted, left) ?? refused(room, wanted);
  }

  /** Reserves what is wanted, or what others have left of it, down to the least. */
  #placedBeside(wanted: Wanted): Placed | Failure {
    const left = this.tracker.remaining();
    // What holds all dollars because its price is not known holds them for what begins in its code, too.
    if (wanted.costOf === undefined && !(left.costUsd > 0)) {
      const room = roomIn({ ...left, costUsd: unspent(this.tracker).costUsd }, wanted, this.tracker);
      if (room.tokens >= wanted.leastOutputTokens) {
        return new Placed(this, undefined, { room, isUnpriced: true, reserved: nothing });
      }
    }
    const room = roomIn(left, wanted, this.tracker);
    return this.#taken(room, wanted, left) ?? refused(room, wanted, " beside the one in whose code it begins");
  }

  #placedInTurn(wanted: Wanted, signal: AbortSignal): Promise<Placed | Failure> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(isServed);
        reject(signal.reason);
        this.serve();
      };
      const isServed = (): boolean => {
        try {
          const got = this.#placed(wanted);
          if (got === undefined) return false;
          resolve(got);
        } catch (error) {
          // An application's own tracker may throw.
          reject(error);
        }
        this.#waiting.delete(isServed);
        signal.removeEventListener("abort", leave);
        return true;
      };
      if (signal.aborted) return reject(signal.reason);
      this.#waiting.add(isServed);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  /** undefined: the room is too small. */
  #taken(room: Room, wanted: Wanted, left: BudgetAmounts): Placed | undefined {
    const { inputTokens, costOf } = wanted;
    if (!(room.tokens >= wanted.leastOutputTokens)) return undefined;
    const outputTokens = Math.min(wanted.outputTokens, room.tokens);
    // The room was divided by the price: what it comes to may be a rounding error more.
    const heldUsd = costOf?.(inputTokens, outputTokens) ?? this.#unpricedUsd(wanted);
    const costUsd = heldUsd && Math.min(heldUsd, left.costUsd);
    const reserved = { inputTokens, outputTokens, costUsd };
    const reservation = this.tracker.reserve(reserved);
    if (reservation === undefined) return undefined;
    this.#open += 1;
    return new Placed(this, reservation, { room, isUnpriced: costOf === undefined, reserved });
  }

  /**
   * The dollars that a request holds whose price is not known, because the provider reports its cost: the most that one has
   * cost so far, and all that is left before one has cost anything.
   */
  #unpricedUsd({ costOf }: Wanted): number | undefined {
    if (costOf !== undefined || this.tracker.budget.maxCostUsd === undefined) return undefined;
    return this.#dearestUsd ?? Infinity;
  }
}

interface Taken {
  readonly room: Room;
  readonly isUnpriced: boolean;
  readonly reserved: SpentSoFar;
}

/** A request that holds its place in a budget. */
export class Placed {
  /** The room beside all other reservations; its own reservation is part of it. */
  readonly room: Room;
  readonly #budget: SharedBudget;
  readonly #isUnpriced: boolean;
  #reservation: BudgetReservation | undefined;
  /** What the reservation holds. */
  #reserved: SpentSoFar;
  #isOpen: boolean;
  #isSettled = false;

  constructor(budget: SharedBudget, reservation: BudgetReservation | undefined, { room, isUnpriced, reserved }: Taken) {
    this.#budget = budget;
    this.#isUnpriced = isUnpriced;
    this.#reserved = reserved;
    this.#reservation = reservation;
    this.#isOpen = reservation !== undefined;
    this.room = room;
  }

  /** Puts the real usage in the reservation's place, once, and serves the requests that wait. */
  settle(actual: Parameters<BudgetReservation["settle"]>[0]): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#close();
    if (this.#isUnpriced && actual.costUsd !== undefined) this.#budget.learnCost(actual.costUsd);
    try {
      (this.#reservation ?? this.#budget.tracker.reserve(nothing))?.settle(actual);
    } finally {
      // Also where a tracker of the application's throws: others wait.
      this.#budget.serve();
    }
  }

  /**
   * Replaces the reservation by this, or by all that is left where that is less. Requests in the queue do not wait for its
   * end any more.
   */
  shrink(to: SpentSoFar): void {
    if (this.#isSettled) return;
    const { tracker } = this.#budget;
    this.#close();
    try {
      this.#reservation?.settle(noUsage);
      this.#reservation = tracker.reserve((this.#reserved = to));
      if (this.#reservation === undefined) {
        this.#reserved = atMost(tracker.remaining(), to);
        this.#reservation = tracker.reserve(this.#reserved);
      }
    } finally {
      this.#budget.serve();
    }
  }

  /** The room for one more model within this place, after so much has gone; or why there is none. */
  roomFor(wanted: Wanted, gone: SpentSoFar): Room | Failure {
    const { tracker } = this.#budget;
    const room = roomIn(leftAfter(tracker.remaining(), this.#reserved, gone), wanted, tracker);
    return room.tokens >= wanted.leastOutputTokens ? room : refused(room, wanted);
  }

  #close(): void {
    if (this.#isOpen) this.#budget.reservationEnded();
    this.#isOpen = false;
  }
}

const nothing = { inputTokens: 0, outputTokens: 0 };
