import { guardedFor, type CallGuard, type Filesystem, type Guardable } from "@proviso/core";
import { isGuardable, isObjectOrFunction } from "@proviso/core/internal";
import { hiddenField } from "../hidden-field.ts";
import { HeldGuard, type Holder } from "./held-guard.ts";

/** Where a view names the resource behind it: locks go by that one's identity. */
const resourceBehind = Symbol("resource behind the view");
const behind = /* @__PURE__ */ hiddenField<object>();

/** The resource as this call, or undefined: the call that runs when it is used, may use it; one without `guardedFor` as it is. */
export function guarded<T>(resource: T, call: Holder | undefined): T {
  if (!isGuardable(resource)) return resource;
  const view = resource[guardedFor](new HeldGuard(unguarded(resource), call));
  // Ours say it themselves; a hidden field is for those of other makes.
  if (view !== resource && (view as Behind)[resourceBehind] === undefined) behind.set(view, unguarded(resource));
  return view as T;
}

interface Behind {
  readonly [resourceBehind]?: object;
}

/** The resource itself, where a call's view of it is given. */
export function unguarded<T>(resource: T): T {
  if (!isObjectOrFunction(resource)) return resource;
  return ((resource as Behind)[resourceBehind] ?? behind.of(resource) ?? resource) as T;
}

/** Adds `guardedFor` to a resource of ours; it cannot be listed. */
export function guardedBy<View extends object, T extends View>(
  resource: T,
  view: (guard: CallGuard) => View,
): T & Guardable<View> {
  const named = (guard: CallGuard): View => Object.defineProperty(view(guard), resourceBehind, { value: resource });
  return Object.defineProperty(resource, guardedFor, { value: named }) as T & Guardable<View>;
}

type ReadingMethod = "read" | "readBytes" | "list" | "exists" | "glob" | "grep" | "snapshot" | "release";
const reading = new Set<string>([
  "read",
  "readBytes",
  "list",
  "exists",
  "glob",
  "grep",
  "snapshot",
  "release",
] satisfies ReadingMethod[]);

/**
 * A filesystem that a call cannot use when it is over, and a reading call cannot change: what is no reading method changes.
 * `readingWhile` makes the methods that take long enough to outlive their call: they stop when `assertLive` throws.
 */
export function guardable<T extends Filesystem>(
  filesystem: T,
  readingWhile?: (assertLive: () => void) => Partial<Filesystem>,
): T {
  const view = (guard: CallGuard): T => {
    let long: Partial<Filesystem> | undefined;
    const memberOf = (target: T, name: string | symbol): unknown => {
      if (readingWhile === undefined || !reading.has(name as string)) return Reflect.get(target, name);
      long ??= readingWhile(() => guard.assertLive());
      return Reflect.get(Object.hasOwn(long, name) ? long : target, name);
    };
    return new Proxy(filesystem, {
      get(target, name) {
        if (name === resourceBehind) return target;
        const member = memberOf(target, name);
        // What it has under a symbol is for the runtime: a view of the view, for an evaluation inside the call.
        if (typeof member !== "function" || typeof name === "symbol") return member;
        return async (...inputs: unknown[]): Promise<unknown> => {
          guard.assertLive();
          if (!reading.has(name)) guard.assertMayChange("a file");
          // A crash within a call goes back to the call's own snapshot, whatever becomes of this one.
          return member.apply(target, name === "snapshot" ? [{ savepoint: true }] : inputs);
        };
      },
    });
  };
  return Object.defineProperty(filesystem, guardedFor, { value: view });
}
