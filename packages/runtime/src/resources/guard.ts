import type { Filesystem } from "@proviso/core";

const ours = new WeakSet<object>();

/** Marks a filesystem as ours: a call that is over cannot use it any more. */
export function guardable<T extends Filesystem>(filesystem: T): T {
  ours.add(filesystem);
  return filesystem;
}

/**
 * The same resource, which raises what `assertLive` raises once the call is over; resources of other makes as they
 * are.
 */
export function guarded<T>(resource: T, assertLive: () => void): T {
  if (typeof resource !== "object" || resource === null || !ours.has(resource)) return resource;
  return new Proxy(resource, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return async (...inputs: unknown[]): Promise<unknown> => {
        assertLive();
        return member.apply(target, inputs);
      };
    },
  });
}
