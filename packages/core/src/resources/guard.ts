import { isObjectOrFunction } from "../values.ts";

/** The call in which a resource is used, as `guardedFor` gets it. */
export interface CallGuard {
  /**
   * True while the code that runs may not change the resource: the handler of a `readOnly` tool, a policy whose tool is
   * `readOnly` or declares what it uses, and a call that has not locked the resource for writing, because the handle came
   * to it from a policy, a factory or the call around.
   */
  isReadOnly(): boolean;
  /** @throws {RevokedError} when the call is over. */
  assertLive(): void;
  /**
   * Call this before every change. `what` completes "… tried to change". Where changes are not allowed it throws, and
   * the call fails whatever its handler makes of the error.
   * @throws {DefinitionError} while `isReadOnly`.
   */
  assertMayChange(what: string): void;
  /** Lets the call fail with this message, whatever its handler returns. */
  fail(why: string): void;
}

/**
 * The name of a method with which a resource refuses use that comes too late or that may not change anything. What a
 * handler, a policy or another resource's factory gets of the resource is what the method returns for their call.
 *
 * ```ts
 * const counter = {
 *   value: 0,
 *   add() { this.value += 1; },
 *   [guardedFor](call: CallGuard) {
 *     const counter = this;
 *     return {
 *       get value() { call.assertLive(); return counter.value; },
 *       add() { call.assertLive(); call.assertMayChange("the counter"); counter.add(); },
 *     };
 *   },
 * };
 * ```
 */
export const guardedFor: unique symbol = Symbol.for("proviso.guardedFor") as never;

/** A resource that knows how one call may use it. */
export interface Guardable<View extends object = object> {
  [guardedFor](call: CallGuard): View;
}

/** Whether a resource has a method `guardedFor`. */
export function isGuardable(value: unknown): value is Guardable {
  if (!isObjectOrFunction(value)) return false;
  return typeof (value as Partial<Guardable>)[guardedFor] === "function";
}
