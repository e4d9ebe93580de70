import type { CallGuard, ResourceKey, Resources } from "@proviso/core";

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
