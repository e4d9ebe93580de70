import type { BudgetTracker, Usage } from "@proviso/core";
import { addUsage, noUsage } from "@proviso/core/internal";
import type { AttemptRecord } from "../results.ts";

type Amount = "inputTokens" | "outputTokens" | "totalTokens" | "costUsd";
const amounts: readonly Amount[] = ["inputTokens", "outputTokens", "totalTokens", "costUsd"];

/** Attempts of a variant that an expectation is made of: the last ones. */
const mostSeen = 100;

/**
 * The amounts of a variant's last attempts: as they came, and each in order, so that a p90 is looked up and not sorted. They
 * are put in order when a p90 is asked for: a run without a budget and a store never asks.
 */
class Seen {
  readonly #usages: Usage[] = [];
  #oldest = 0;
  #sorted: Readonly<Record<Amount, number[]>> | undefined;
  /** The p90 of each amount; undefined: not known since the last change. */
  #expected: Usage | undefined;

  add(usage: Usage): void {
    const isFull = this.#usages.length === mostSeen;
    const oldest = isFull ? this.#usages[this.#oldest] : undefined;
    if (isFull) {
      this.#usages[this.#oldest] = usage;
      this.#oldest = (this.#oldest + 1) % mostSeen;
    } else this.#usages.push(usage);
    if (this.#sorted === undefined) return;
    for (const amount of amounts) {
      const sorted = this.#sorted[amount];
      const [gone, value] = [oldest?.[amount] ?? 0, usage[amount] ?? 0];
      if (oldest !== undefined && gone === value) continue;
      this.#expected = undefined;
      if (oldest !== undefined) sorted.splice(placeOf(sorted, gone), 1);
      sorted.splice(placeOf(sorted, value), 0, value);
    }
  }

  /** The p90 of each amount. */
  expected(): Usage {
    if (this.#expected !== undefined) return this.#expected;
    const sorted = (this.#sorted ??= this.#inOrder());
    const p90 = (amount: Amount): number => sorted[amount][Math.ceil(0.9 * sorted[amount].length) - 1] ?? 0;
    const costUsd = p90("costUsd");
    return (this.#expected = {
      ...noUsage,
      inputTokens: p90("inputTokens"),
      outputTokens: p90("outputTokens"),
      totalTokens: p90("totalTokens"),
      ...(costUsd === 0 ? {} : { costUsd }),
      estimated: true,
    });
  }

  #inOrder(): Readonly<Record<Amount, number[]>> {
    const sorted = (amount: Amount): number[] =>
      this.#usages.map((usage) => usage[amount] ?? 0).toSorted((a, b) => a - b);
    return {
      inputTokens: sorted("inputTokens"),
      outputTokens: sorted("outputTokens"),
      totalTokens: sorted("totalTokens"),
      costUsd: sorted("costUsd"),
    };
  }
}

/** The first place whose value is not below this one. */
function placeOf(sorted: readonly number[], value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Room in the budget that an attempt has taken: what it is expected to spend. */
export interface Room {
  readonly expected: Usage;
}

/**
 * What an attempt is expected to spend at most, the p90 of its variant's last attempts, and the room that those in flight
 * have taken of the budget. Before one of a variant has ended nothing is known of them: the first one runs alone.
 */
export class Expected {
  readonly #seen = new Map<string, Seen>();
  readonly #inFlight: Record<Amount, number> = { inputTokens: 0, outputTokens: 0, totalTokens: 0, costUsd: 0 };
  readonly #rooms = new Set<Room>();
  /** Whether the last one that took room was the first of its variant: it is alone as long as it is in flight. */
  #isFirstInFlight = false;
  #waiting: (() => void)[] = [];

  add({ variant, usage, judgeUsage }: Pick<AttemptRecord, "variant" | "usage" | "judgeUsage">): void {
    let seen = this.#seen.get(variant);
    if (seen === undefined) this.#seen.set(variant, (seen = new Seen()));
    seen.add(judgeUsage === noUsage ? usage : addUsage(usage, judgeUsage));
  }

  /** Nothing where no attempt of the variant has ended yet: then the budget itself is the bound. */
  of(variant: string): Usage {
    return this.#seen.get(variant)?.expected() ?? noUsage;
  }

  /** Takes room for an attempt, which is waited for while others may leave some. undefined: there is none, or it is over. */
  room(
    variant: string,
    budget: BudgetTracker | undefined,
    end: { readonly isOver: boolean },
  ): Promise<Room | undefined> | Room | undefined {
    const room = this.take(variant, budget);
    if (room !== "later") return room;
    return this.left().then(() => (end.isOver ? undefined : this.room(variant, budget, end)));
  }

  /** Takes room for an attempt. "later": those in flight may leave some. undefined: there is none. */
  take(variant: string, budget: BudgetTracker | undefined): Room | "later" | undefined {
    const expected = this.of(variant);
    const isFirst = budget !== undefined && !this.#seen.has(variant);
    const isAlone = this.#rooms.size === 0;
    const mayBegin = isAlone || !(isFirst || this.#isFirstInFlight);
    if (!mayBegin || !this.fits(budget, expected)) return isAlone ? undefined : "later";
    const room: Room = { expected };
    this.#rooms.add(room);
    this.#isFirstInFlight = isFirst;
    this.begin(expected);
    return room;
  }

  /** Gives room back, once. */
  leave(room: Room): void {
    if (!this.#rooms.delete(room)) return;
    for (const amount of amounts)
      this.#inFlight[amount] = Math.max(0, this.#inFlight[amount] - (room.expected[amount] ?? 0));
    this.wake();
  }

  /** Lets those look again that wait for room. */
  wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  /** Resolves when room is given back, or the run has ended. */
  left(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** What is counted as spent from now on, beside what has room. */
  begin(usage: Usage): void {
    for (const amount of amounts) this.#inFlight[amount] += usage[amount] ?? 0;
  }

  /** Whether what is spent, in flight and wanted fits the budget. */
  fits(budget: BudgetTracker | undefined, wanted: Usage): boolean {
    if (budget === undefined) return true;
    if (budget.exceeded() !== undefined) return false;
    const { consumed } = budget;
    const limits: Readonly<Record<Amount, number | undefined>> = {
      inputTokens: budget.budget.maxInputTokens,
      outputTokens: budget.budget.maxOutputTokens,
      totalTokens: budget.budget.maxTotalTokens,
      costUsd: budget.budget.maxCostUsd,
    };
    return amounts.every((amount) => {
      const limit = limits[amount];
      const sum = (consumed[amount] ?? 0) + this.#inFlight[amount] + (wanted[amount] ?? 0);
      return limit === undefined || sum <= limit;
    });
  }
}
