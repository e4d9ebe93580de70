// 1. A handle may change its resource where the call that got it, and the call whose code uses it, hold the resource for
//    writing: they can undo it then. By which way the handle came there does not matter.
import { DefinitionError, isSnapshotable, type CallGuard } from "@proviso/core";
import { currentTransaction } from "../transactions/async-context.ts";
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
    return this.#users().some((user) => user.guard.isReadOnly() || !this.#isHeldBy(user));
  }

  assertLive(): void {
    this.call?.assertLive();
  }

  /** @throws {DefinitionError} where a call may change nothing, or holds the resource for reading or not at all. */
  assertMayChange(what: string): void {
    for (const user of this.#users()) {
      const { guard, transaction } = user;
      guard.assertMayChange(what);
      if (this.#isHeldBy(user)) continue;
      const why = `${transaction.name} tried to change ${what}, which it has not locked for that: declare the resource with uses, or get it in the handler.`;
      guard.fail(why);
      throw new DefinitionError(why);
    }
  }

  fail(why: string): void {
    this.call?.fail(why);
  }

  /** The call that got the handle, and the one in whose code it is used. */
  #users(): readonly Holder[] {
    const [from, current] = [this.#from, currentTransaction()];
    const inside = current?.guard === from?.guard ? undefined : current;
    return [from, inside].filter((user): user is Holder => user?.guard !== undefined);
  }

  #isHeldBy({ transaction }: Holder): boolean {
    return !isSnapshotable(this.#resource) || hasJoined(transaction, this.#resource, "write");
  }
}

/** One guard for each call, also of a handle that outlives it. */
export function callOf(guard: CallGuard): CallGuard {
  return guard instanceof HeldGuard ? (guard.call ?? guard) : guard;
}
