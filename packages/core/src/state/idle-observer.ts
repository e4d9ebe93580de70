import type { Observer } from "./observer.ts";

/** The key of a member with which an observer of ours says that it takes nothing of the evaluation that begins. */
export const isIdle: unique symbol = Symbol.for("@proviso/core observer is idle");

/** An observer that has nothing to do as long as the process has not set up what it passes things on to. */
export interface IdleObserver extends Observer {
  [isIdle](): boolean;
}

/** The key of a member with which an observer of ours makes one for the evaluation that begins, and for it alone. */
export const ofEvaluation: unique symbol = Symbol.for("@proviso/core observer of one evaluation");

/** An observer that keeps evaluations apart that have one id: forks of a run, side by side. */
export interface EachObserver extends Observer {
  [ofEvaluation](): Observer;
}
