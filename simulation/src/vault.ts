import { provideFactory, resourceKey, type Binding, type Clock, type Snapshotable } from "@proviso/core";
import type { Book } from "./checks.ts";
import type { Random } from "./random.ts";
import type { World } from "./world.ts";

/** How a resource of somebody else's behaves when it is marked and put back. */
export type Mood = "good" | "slow" | "moody";

/** A resource of somebody else's, in its own time. */
export interface Vault extends Snapshotable<readonly string[]> {
  readonly entries: readonly string[];
  /** It is being put back, or never was: nobody knows what it holds. */
  readonly isTorn: boolean;
  /** Its state is being taken: a rollback that goes on behind a limit waits for that. */
  readonly isBeingTaken: boolean;
  /** A restore that never ends: its transaction goes on, and keeps its locks and what was made in it. */
  readonly hangs: boolean;
  /** It refused to be put back: the session has to become unusable. */
  readonly hasFailed: boolean;
  /** Learns from the signal that nobody wants the entry any more; `landed` is called when it is in. */
  put(entry: string, signal: AbortSignal, landed: () => void): Promise<void>;
}
export const vaultKey = resourceKey<Vault>("Vault");

export function createVault(random: Random, clock: Clock, mood: Mood): Vault {
  let entries: readonly string[] = [];
  let restoring = 0;
  let taking = 0;
  let hasFailed = false;
  let hangs = false;
  const takeTime = async (): Promise<void> => {
    await Promise.resolve();
    if (mood !== "good" && random.chance(0.3)) await clock.sleep(random.pick([5, 20, 40, 200]));
  };
  return {
    get entries() {
      return entries;
    },
    get isTorn() {
      return restoring > 0 || hasFailed;
    },
    get isBeingTaken() {
      return taking > 0;
    },
    get hangs() {
      return hangs;
    },
    get hasFailed() {
      return hasFailed;
    },
    async put(entry, signal, landed) {
      await Promise.resolve();
      signal.throwIfAborted();
      entries = [...entries, entry];
      landed();
    },
    async snapshot() {
      const now = entries;
      taking += 1;
      await takeTime().finally(() => (taking -= 1));
      if (mood === "moody" && random.chance(0.04)) throw new Error("the vault cannot be marked");
      return now;
    },
    async restore(snapshot) {
      restoring += 1;
      await takeTime();
      if (mood === "moody" && random.chance(0.08)) {
        hasFailed = true;
        throw new Error("the vault jams");
      }
      if (mood === "moody" && random.chance(0.05)) {
        hangs = true;
        await new Promise(() => {});
      }
      entries = snapshot;
      restoring -= 1;
    },
  };
}

/** Something that is made when a call asks for it, and closed. */
export interface Thing {
  readonly name: string;
  closed: number;
}
export const lazyKey = resourceKey<Thing>("Lazy");
export const asyncKey = resourceKey<Thing>("Async");
const eagerKey = resourceKey<Thing>("Eager");
export const freshKey = resourceKey<Thing>("Fresh");

function made(things: Thing[], name: string): Thing {
  const thing: Thing = { name: `${name}-${things.length}`, closed: 0 };
  things.push(thing);
  return thing;
}

const close = (thing: Thing): void => void (thing.closed += 1);

/** Resources that come and go with calls; `things` are all that were made. */
export function thingBindings(clock: Clock, things: Thing[]): readonly Binding[] {
  const make = (name: string): Thing => made(things, name);
  const slowly = async (): Promise<Thing> => {
    await clock.sleep(120);
    return make("async");
  };
  return [
    provideFactory(lazyKey, () => make("lazy"), { close }),
    provideFactory(asyncKey, slowly, { close }),
    provideFactory(freshKey, () => make("fresh"), { close, scope: "toolCall" }),
  ];
}

/** A resource that a section wants at once when it opens: it takes its time, cannot be made, or never comes. */
export function eagerBinding(world: Pick<World, "random" | "clock" | "things" | "shape" | "openings">): Binding {
  const { random, clock, things, shape, openings } = world;
  const open = async (): Promise<Thing> => {
    if (random.chance(0.15)) {
      openings.failed += 1;
      throw new Error("nothing to open");
    }
    if (random.chance(0.5)) await clock.sleep(random.int(5_000));
    if (shape.mood === "moody" && random.chance(0.3)) await new Promise(() => {});
    return made(things, "eager");
  };
  return provideFactory(eagerKey, open, { close, eager: true });
}

/** TX-4: whatever was made is closed once its scope is, unless a transaction around it never ends. */
export function checkThings(book: Book, things: readonly Thing[], hangs: boolean): void {
  for (const { name, closed } of things) {
    book.demand(closed === 1 || (hangs && closed === 0), `TX-4 ${name} was closed ${closed} times`);
  }
}
