import type { Binding, Resources, CallGuard, ResourceKey } from "@proviso/core";
import { allSettled } from "../transactions/snapshots.ts";
import { LockFault } from "../transactions/endless-wait.ts";
import type { Asking, Calling, CallResources, ResourceContext } from "./asking.ts";
import { discardSince, isEmpty, newStore, type Key, type Store } from "./store.ts";

/** The scope that a call is in. */
export interface CallScope {
  readonly bindings: readonly Binding[];
  readonly singletons: Store;
  readonly outers: readonly ResourceContext[];
  ask(asking: Asking): Resources;
}

export function madeForCalls({ scope, eager }: Binding): boolean {
  return scope === "toolCall" && eager;
}

/**
 * Whether it is not known yet what the factory of the key asks for, so the call that declares the key does not hold
 * that.
 */
export function isToLearn({ key, scope }: Binding, uses: readonly Key[], { asked }: Store): boolean {
  return uses.length > 0 && scope !== "singleton" && uses.includes(key) && !asked.has(key);
}

export function openCall({ bindings, singletons, outers, ask }: CallScope, calling: Calling): CallResources {
  const store = newStore(singletons.clock);
  const around = new Map(outers.map((outer) => [outer, outer.forCall(calling)]));
  // The map has this context: it was made of the same list.
  const outer = (context: ResourceContext): CallResources => around.get(context) as CallResources;
  const call = { ...calling, store, outer };
  const injected = ask({ path: [], isInjected: true, call });
  return {
    resources: ask({ path: [], isInjected: false, call }),
    injected,
    open(uses) {
      const eager = bindings.filter(madeForCalls);
      const learning = bindings.filter((each) => !madeForCalls(each) && isToLearn(each, uses, singletons));
      const first = [...around.values()].map((each) => each.open(uses)).filter((each) => each !== undefined);
      if (first.length + eager.length + learning.length === 0) return undefined;
      return (async () => {
        await allSettled(first);
        for (const { key } of eager) await injected.open(key);
        for (const binding of learning) await learn(injected, binding, store);
      })();
    },
    isEmpty: () => isEmpty(store) && [...around.values()].every((each) => each.isEmpty()),
    close() {
      const closing = [...around.values()].map((each) => each.close()).filter((each) => each !== undefined);
      if (!isEmpty(store)) closing.push(discardSince(store, { made: 0, openings: new Set() }));
      return closing.length === 0 ? undefined : allSettled(closing);
    },
  };
}

/** Makes it, with the locks of all that its factory gets; the handler may get it then without a wait. */
async function learn(resources: Resources, binding: Binding, store: Store): Promise<void> {
  try {
    await resources.open(binding.key);
  } catch (error) {
    // What else is wrong with its factory concerns those who ask for it.
    if (error instanceof LockFault) throw error;
    return;
  }
  if (binding.scope !== "prototype") return;
  const made = store.made.findLast((each) => each.binding === binding);
  if (made !== undefined) (store.learned ??= new Map()).set(binding.key, made.instance);
}

/** Resources that are there as long as the call lives. */
export function liveResources(resources: () => Resources, { assertLive }: CallGuard): Resources {
  return {
    get(key) {
      assertLive();
      return resources().get(key);
    },
    find(key) {
      assertLive();
      return resources().find(key);
    },
    open(key) {
      const opening = openLive(resources, key, assertLive);
      // The handler may not await it, and it may reject after the call.
      opening.catch(() => {});
      return opening;
    },
  };
}

async function openLive<T>(resources: () => Resources, key: ResourceKey<T>, assertLive: () => void): Promise<T> {
  assertLive();
  const opened = await resources().open(key);
  assertLive();
  return opened;
}
