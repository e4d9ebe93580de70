// Shared resources of somebody else's make, which watch how they are snapshotted, restored, released and closed.
import { guardedFor, type CallGuard, type Snapshotable } from "@proviso/core";
import type { FakeClock } from "@proviso/runtime/testing";
import type { Book } from "../checks.ts";
import type { Random } from "../random.ts";
import type { Record, Store } from "./record.ts";

/** How a resource answers, and what goes wrong with it. */
export interface Manner {
  readonly answers: "at once" | "promise" | "foreign";
  readonly slow: boolean;
  readonly releases: boolean;
  readonly guardable: boolean;
  readonly faults: "none" | "passing" | "restore" | "release" | "snapshot";
}

interface Snap {
  readonly items: readonly string[];
  readonly busy: string | undefined;
  readonly savepoint: boolean;
  restores: number;
  wasRestored: boolean;
  released: boolean;
}

/** A list that is written slowly: it is read, then half-done, then done. */
export interface Sheet {
  readonly cell: Cell;
  look(): { readonly items: readonly string[]; readonly busy: string | undefined };
  put(items: readonly string[], busy: string | undefined): void;
}

export interface Cell extends Sheet, Snapshotable<Snap> {
  readonly name: string;
  readonly store: Store;
  readonly guardable: boolean;
  /** Restores or releases failed for good: nobody knows what it holds. */
  readonly hasFailed: boolean;
  /** A restore failed twice: from then on it has to be refused. */
  readonly isLost: boolean;
  /** What was committed could not be made permanent. */
  readonly cannotCommit: boolean;
  /** Snapshots, restores and releases that have not come to their end. */
  readonly inFlight: number;
  readonly closings: readonly (readonly string[])[];
  /** Snapshots that were neither savepoints nor released. */
  unreleased(): number;
  close(): void;
}

export interface CellParts {
  readonly random: Random;
  readonly clock: FakeClock;
  readonly book: Book;
  readonly record: Record;
  /** A snapshot that somebody took of everything is being restored: the session has been, just before. */
  goesBack(): void;
}

/** A promise of another library: it runs when it is awaited, and is no instance of Promise. */
class QueryPromise<T> implements PromiseLike<T> {
  readonly #run: () => Promise<T>;
  constructor(run: () => Promise<T>) {
    this.#run = run;
  }
  // eslint-disable-next-line unicorn/no-thenable
  then<A = T, B = never>(
    onDone?: ((value: T) => A | PromiseLike<A>) | null,
    onError?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): PromiseLike<A | B> {
    return this.#run().then(onDone, onError);
  }
}

export function randomManner(random: Random, faulty: boolean): Manner {
  return {
    answers: random.pick(["at once", "promise", "foreign", "foreign"]),
    slow: random.chance(0.3),
    releases: random.chance(0.8),
    guardable: random.chance(0.3),
    faults: faulty ? random.pick(["restore", "release", "snapshot"]) : random.pick(["none", "none", "passing"]),
  };
}

export function createCell(parts: CellParts, name: string, manner: Manner): Cell {
  const { random, clock, book, record } = parts;
  const store = record.store(name);
  const snaps: Snap[] = [];
  const closings: (readonly string[])[] = [];
  let state: Pick<Snap, "items" | "busy"> = { items: [], busy: undefined };
  let inFlight = 0;
  let hasFailed = false;
  let isLost = false;
  let cannotCommit = false;
  /** Now, or later in the way of this resource; `isSlow` is drawn by whoever asks. */
  const answer = <T>(work: () => T): T | PromiseLike<T> => {
    if (manner.answers === "at once") return work();
    const run = async (): Promise<T> => {
      inFlight += 1;
      try {
        await Promise.resolve();
        if (manner.slow) await clock.sleep(random.pick([1, 5, 20, 180]));
        return work();
      } finally {
        inFlight -= 1;
      }
    };
    return manner.answers === "promise" ? run() : new QueryPromise(run);
  };
  const fails = (kind: Manner["faults"], share: number): boolean => manner.faults === kind && random.chance(share);

  const cell: Cell = {
    name,
    store,
    guardable: manner.guardable,
    get cell() {
      return cell;
    },
    get hasFailed() {
      return hasFailed;
    },
    get isLost() {
      return isLost;
    },
    get cannotCommit() {
      return cannotCommit;
    },
    get inFlight() {
      return inFlight;
    },
    closings,
    unreleased: () => (manner.releases ? snaps.filter(({ released, savepoint }) => !released && !savepoint).length : 0),
    look: () => state,
    put(items, busy) {
      book.demand(inFlight === 0, `TX-11 ${name} is written while a snapshot, restore or release is under way`);
      book.demand(closings.length === 0, `TX-4 ${name} is written after it was closed`);
      state = { items, busy };
    },
    snapshot: ({ savepoint = false } = {}) =>
      answer(() => {
        if (fails("snapshot", 0.2)) throw new Error(`${name} takes no snapshot`);
        const snap: Snap = { ...state, savepoint, restores: 0, wasRestored: false, released: false };
        snaps.push(snap);
        return snap;
      }),
    restore: (snap) => {
      if (snap.savepoint) parts.goesBack();
      return answer(() => {
        book.demand(snaps.includes(snap), `TX-14 ${name} is restored to what is no snapshot of it`);
        if (!snaps.includes(snap)) return;
        book.demand(!snap.released, `TX-13 ${name} is restored after its release`);
        book.demand(closings.length === 0, `TX-4 ${name} is restored after it was closed`);
        snap.restores += 1;
        if (fails("passing", 0.3) && snap.restores === 1) throw new Error(`${name} jams for a moment`);
        if (manner.faults === "restore" && (snap.restores > 1 || random.chance(0.3))) {
          isLost ||= snap.restores > 1;
          hasFailed ||= isLost;
          throw new Error(`${name} jams`);
        }
        state = { items: snap.items, busy: snap.busy };
        snap.restores = 0;
        snap.wasRestored = true;
      });
    },
    ...(manner.releases
      ? {
          release: (snap: Snap) =>
            answer(() => {
              book.demand(!snap.released, `TX-11 a snapshot of ${name} is released twice`);
              snap.released = true;
              if (!fails("release", 0.2)) return;
              hasFailed = true;
              cannotCommit ||= !snap.wasRestored && state.items !== snap.items;
              throw new Error(`${name} cannot commit`);
            }),
        }
      : {}),
    close: () => void closings.push(state.items),
  };
  if (manner.guardable) {
    const guardedView = (call: CallGuard): Sheet => ({
      cell,
      look: cell.look,
      put(items, busy) {
        call.assertLive();
        call.assertMayChange("a sheet");
        cell.put(items, busy);
      },
    });
    Object.assign(cell, { [guardedFor]: guardedView });
  }
  return cell;
}
