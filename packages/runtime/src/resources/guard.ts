import type { Filesystem } from "@proviso/core";

/** What a resource may ask about the call that it is used in. */
export interface CallGuard {
  /** The handler may change nothing. */
  isReadOnly(): boolean;
  /** @throws {RevokedError} when the call is over. */
  assertLive(): void;
  /** The call fails when it does not, whatever its handler makes of the error. @throws {DefinitionError} in a read-only handler. */
  assertMayChange(what: string): void;
  /** The call fails, whatever its handler returns. */
  fail(why: string): void;
}

const views = new WeakMap<object, (guard: CallGuard) => object>();

/** Says how a call sees this resource; it cannot use it any more when it is over. */
export function guardedBy<View extends object, T extends View>(resource: T, view: (guard: CallGuard) => View): T {
  views.set(resource, view);
  return resource;
}

/** The resource as a call sees it; resources of other makes as they are. */
export function guarded<T>(resource: T, guard: CallGuard): T {
  if (typeof resource !== "object" || resource === null) return resource;
  return (views.get(resource)?.(guard) ?? resource) as T;
}

const changing = new Set<string>(["write", "remove", "mkdir", "restore"] satisfies (keyof Filesystem | "restore")[]);

/** Marks a filesystem as ours: a call that is over cannot use it any more, a read-only one cannot change it. */
export function guardable<T extends Filesystem>(filesystem: T): T {
  return guardedBy(
    filesystem,
    (guard) =>
      new Proxy(filesystem, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== "function") return member;
          return async (...inputs: unknown[]): Promise<unknown> => {
            guard.assertLive();
            if (changing.has(String(name))) guard.assertMayChange("a file");
            // Within a call a crash goes back to the call's own snapshot, whatever becomes of this one.
            return member.apply(target, name === "snapshot" ? [{ savepoint: true }] : inputs);
          };
        },
      }),
  );
}
