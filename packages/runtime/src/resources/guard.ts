import type { Filesystem } from "@proviso/core";

const ours = new WeakSet<object>();

/** Marks a filesystem as ours: a call that is over cannot use it any more. */
export function guardable<T extends Filesystem>(filesystem: T): T {
  ours.add(filesystem);
  return filesystem;
}

const changing = new Set<string>(["write", "remove", "mkdir", "restore"] satisfies (keyof Filesystem | "restore")[]);

/** Whether a method of a filesystem changes it. */
export function changesFiles(method: string): boolean {
  return changing.has(method);
}

/**
 * The same resource, which raises what `assertAllowed` raises of a method; resources of other makes as they are.
 */
export function guarded<T>(resource: T, assertAllowed: (method: string) => void): T {
  if (typeof resource !== "object" || resource === null || !ours.has(resource)) return resource;
  return new Proxy(resource, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return async (...inputs: unknown[]): Promise<unknown> => {
        assertAllowed(String(name));
        // Within a call a crash goes back to the call's own snapshot, whatever becomes of this one.
        return member.apply(target, name === "snapshot" ? [{ savepoint: true }] : inputs);
      };
    },
  });
}
