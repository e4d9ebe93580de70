// What observers of ours can do beyond the contract that observers of programs have.
import type { FrameworkEvent } from "./events.ts";
import type { Observer, Step } from "./observer.ts";

/** The key of a member with which an observer of ours makes one for the evaluation that begins, and for it alone. */
export const ofEvaluation: unique symbol = Symbol.for("@proviso/core observer of one evaluation");

/** An observer that keeps evaluations apart that have one id: forks of a run, side by side. */
export interface EachObserver extends Observer {
  /** undefined: it takes nothing of this evaluation, because the process has not set up what it passes things on to. */
  [ofEvaluation](): Observer | undefined;
}

/** The key of the types of events that an observer of ours has a use for. */
export const usedEvents: unique symbol = Symbol.for("@proviso/core events that an observer uses");

/** An observer for which an event of another type need not be made; it receives one that was made all the same. */
export interface SparingObserver extends Observer {
  readonly [usedEvents]: ReadonlySet<FrameworkEvent["type"]>;
}

/** The key of a member that an observer of ours has in place of `around`. */
export const surround: unique symbol = Symbol.for("@proviso/core observer surrounds steps");

/** An observer that is given no promise of a step: what ends at once goes on at once, as it does without it. */
export interface SurroundingObserver extends Observer {
  /**
   * Calls `begin` once, in surroundings of its own. `end` is called when the step is over, with what it failed with, and
   * the step's caller goes on after it; left out: nothing waits for the step. What this member throws changes nothing.
   */
  [surround](step: Step, begin: (end?: (error?: unknown) => void) => void): void;
}
