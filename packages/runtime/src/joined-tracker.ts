// Several budgets that hold together, as one tracker.
import type { Budget, BudgetDimension, BudgetTracker, Usage } from "@proviso/core";
import { noUsage, type BudgetAmounts, type BudgetReservation } from "@proviso/core/internal";
import { hiddenField } from "./hidden-field.ts";

/** The trackers behind one that was joined here: a nested evaluation gets it as what is around it. */
const parts = hiddenField<readonly BudgetTracker[]>();

/** The budgets behind one tracker; none where there is no tracker. */
export function partsOf(tracker: BudgetTracker | undefined): readonly BudgetTracker[] {
  return tracker === undefined ? [] : (parts.of(tracker) ?? [tracker]);
}

/** Makes one tracker of several; `own` is the one whose budget and consumption it shows. */
export function joinedTracker(trackers: readonly BudgetTracker[], own: BudgetTracker | undefined): BudgetTracker {
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
    try {
      for (const tracker of this.#trackers) {
        const reservation = tracker.reserve(worstCase);
        if (reservation !== undefined) held.push(reservation);
        else {
          settleAll(held, noUsage);
          return undefined;
        }
      }
    } catch (error) {
      settleAll(held, noUsage);
      throw error;
    }
    return { settle: (actual) => settleAll(held, actual) };
  }

  #least(amount: keyof BudgetAmounts): number {
    return Math.min(...this.#trackers.map((tracker) => tracker.remaining()[amount]));
  }
}

/** Settles each, whatever another one throws. @throws what the first throws that does. */
export function settleAll(
  held: readonly BudgetReservation[],
  actual: Parameters<BudgetReservation["settle"]>[0],
): void {
  let thrown: { readonly error: unknown } | undefined;
  for (const reservation of held) {
    try {
      reservation.settle(actual);
    } catch (error) {
      thrown ??= { error };
    }
  }
  if (thrown !== undefined) throw thrown.error;
}
