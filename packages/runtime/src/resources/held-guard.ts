// 1. A handle may change its resource where the call that got it, and the call whose code uses it, hold the resource for
//    writing: they can undo it then. By which way the handle came there does not matter.
import { DefinitionError, isSnapshotable, type CallGuard } from "@proviso/core";
import { currentTransaction, type Current } from "../transactions/async-context.ts";
import { hasJoined } from "../transactions/snapshots.ts";
import type { Transaction } from "../transactions/transaction.ts";

/** A call, or the body of a transaction, with its guard. */
export interface Holder {
  readonly transaction: Transaction;
  readonly guard: CallGuard;
}

/** The guard of one resource. */
export class HeldGuard implements CallGuard {
  readonly #resource: unknown;
  readonly #from: Holder | undefined;

  /** `from`: the call that gets the handle; undefined: what a factory is given, which is of the call that runs. */
  constructor(resource: unknown, from: Holder | undefined) {
    this.#resource = resource;
    this.#from = from;
  }

  /** The guard of the call. */
  get call(): CallGuard | undefined {
    return (this.#from ?? currentTransaction())?.guard;
  }

  isReadOnly(): boolean {
    const inside = this.#inside();
    return (this.#from !== undefined && this.#reads(this.#from)) || (inside !== undefined && this.#reads(inside));
  }

  assertLive(): void {
    this.call?.assertLive();
  }

  assertMayChange(what: string): void {
    if (this.#from !== undefined) this.#assertHeld(this.#from, what);
    const inside = this.#inside();
    if (inside !== undefined) this.#assertHeld(inside, what);
  }

  fail(why: string): void {
    this.call?.fail(why);
  }

  /** The call in whose code the handle is used, where that is not the one that got it. */
  #inside(): Holder | undefined {
    const current: Current | undefined = currentTransaction();
    return current?.guard === undefined || current.guard === this.#from?.guard ? undefined : (current as Holder);
  }

  #reads(holder: Holder): boolean {
    return holder.guard.isReadOnly() || !this.#isHeld(holder);
  }

  #isHeld({ transaction }: Holder): boolean {
    return !isSnapshotable(this.#resource) || hasJoined(transaction, this.#resource, "write");
  }

  /** @throws {DefinitionError} where the call may change nothing, or holds the resource for reading or not at all. */
  #assertHeld(holder: Holder, what: string): void {
    const { guard, transaction } = holder;
    guard.assertMayChange(what);
    if (this.#isHeld(holder)) return;
    const why = `${transaction.name} tried to change ${what}, which it has not locked for that: declare the resource with uses, or get it in the handler.`;
    guard.fail(why);
    throw new DefinitionError(why);
  }
}

/** One guard for each call, also of a handle that outlives it. */
export function callOf(guard: CallGuard): CallGuard {
  return guard instanceof HeldGuard ? (guard.call ?? guard) : guard;
}
