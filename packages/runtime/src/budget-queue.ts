// 1. Waiting requests are served in the order of arrival, so a large request does not wait for ever. Only a request that
//    begins in the code of another one, and cannot wait for it, overtakes: it does not enter the queue.
// 2. A request waits only while a reservation of this process is open; each that settles serves the waiting ones.
import type { BudgetTracker } from "@proviso/core";
import { noUsage, type BudgetAmounts, type BudgetReservation } from "@proviso/core/internal";
import { hiddenField } from "./hidden-field.ts";

/** An estimate of what a request has spent so far. */
export type SpentSoFar = Parameters<BudgetTracker["reserve"]>[0];

/** What a request holds of a tracker. */
export interface OpenReservation extends BudgetReservation {
  /**
   * Replaces the reservation by this, or by all that is left where that is less. Requests in the queue do not wait for its
   * end any more.
   */
  shrink(to: SpentSoFar): void;
}

/** The requests of this process that one tracker has room for, and those that wait for it. */
export interface BudgetQueue {
  /** No reservation is open here. */
  isEmpty(): boolean;
  /** Wraps a reservation: its end serves the waiting requests. */
  opened(reservation: BudgetReservation): OpenReservation;
  /**
   * Calls `attempt` at once if the queue is empty, otherwise in turn, and again after each settlement, until it returns
   * something. Rejects with the signal's reason when the signal aborts.
   */
  inTurn<T>(attempt: () => T | undefined, signal: AbortSignal): T | Promise<T>;
}

const queues = hiddenField<BudgetQueue>();

/** Returns the queue of a tracker. Each tracker has one, also a tracker that the application made. */
export function queueOf(tracker: BudgetTracker): BudgetQueue {
  let queue = queues.of(tracker);
  if (queue === undefined) queues.set(tracker, (queue = newQueue(tracker)));
  return queue;
}

/** Lowers each amount to what is left. */
function atMost(left: BudgetAmounts, { inputTokens, outputTokens, costUsd = 0 }: SpentSoFar): SpentSoFar {
  const least = (...amounts: readonly number[]): number => Math.max(0, Math.min(...amounts));
  const input = Math.floor(least(inputTokens, left.inputTokens, left.totalTokens));
  const output = Math.floor(least(outputTokens, left.outputTokens, left.totalTokens - input));
  return { inputTokens: input, outputTokens: output, costUsd: least(costUsd, left.costUsd) };
}

const nothing = { inputTokens: 0, outputTokens: 0 };

function newQueue(tracker: BudgetTracker): BudgetQueue {
  let open = 0;
  /** Each returns whether it has got what it waits for. */
  const waiting = new Set<() => boolean>();
  const serve = (): void => {
    for (const isServed of waiting) if (!isServed()) break;
  };
  return {
    isEmpty: () => open === 0,
    opened(reservation) {
      open += 1;
      return openReservation(tracker, reservation, { closed: () => void (open -= 1), serve });
    },
    inTurn(attempt, signal) {
      const first = waiting.size === 0 ? attempt() : undefined;
      if (first !== undefined) return first;
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          waiting.delete(isServed);
          reject(signal.reason);
          serve();
        };
        const isServed = (): boolean => {
          try {
            const got = attempt();
            if (got === undefined) return false;
            resolve(got);
          } catch (error) {
            // An application's own tracker may throw.
            reject(error);
          }
          waiting.delete(isServed);
          signal.removeEventListener("abort", leave);
          return true;
        };
        if (signal.aborted) return reject(signal.reason);
        waiting.add(isServed);
        signal.addEventListener("abort", leave, { once: true });
      });
    },
  };
}

function openReservation(
  tracker: BudgetTracker,
  given: BudgetReservation,
  queue: { closed(): void; serve(): void },
): OpenReservation {
  let reservation: BudgetReservation | undefined = given;
  let isOpen = true;
  let isSettled = false;
  const close = (): void => {
    if (isOpen) queue.closed();
    isOpen = false;
  };
  return {
    settle(actual) {
      if (isSettled) return;
      isSettled = true;
      close();
      (reservation ?? tracker.reserve(nothing))?.settle(actual);
      queue.serve();
    },
    shrink(to) {
      if (isSettled) return;
      close();
      reservation?.settle(noUsage);
      reservation = tracker.reserve(to) ?? tracker.reserve(atMost(tracker.remaining(), to));
      queue.serve();
    },
  };
}
