// What an unknown value is, how a message shows it, and work that is done already or will be.
import { DefinitionError } from "./errors.ts";

/** An object with keys: no list, and not null. Of what class it is does not matter. Never throws. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  try {
    return !Array.isArray(value);
  } catch {
    // A revoked proxy has no keys.
    return false;
  }
}

/** Whether it is an object of no class, and no list. */
export function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * Whether `await` would wait for it. Promises of database libraries (Prisma's, Drizzle's) and of other realms are no
 * instances of Promise.
 */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return false;
  return typeof (value as Partial<PromiseLike<unknown>>).then === "function";
}

/**
 * Returns the result of a function that has to answer synchronously. The rejection of a promise is swallowed.
 * @throws {DefinitionError} for a promise.
 */
export function atOnce<T>(returned: T): T {
  if (!isThenable(returned)) return returned;
  Promise.resolve(returned).catch(() => {});
  throw new DefinitionError("It must be answered at once, not with a promise.");
}

/** UTF-16 units of a message that are kept at most: the cut is between two words, so that it goes through no key. */
const longestMessage = 1024 * 1024;

const noMessage = "Something was thrown that has no message.";

/** The message of whatever was thrown, an Error or an object like it, even where it cannot be shown; of a long one the beginning. */
export function messageOf(error: unknown): string {
  try {
    // A subclass may have made its message anything.
    const { message: own } = Object(error) as { readonly message?: unknown };
    const message = String(own ?? (isNonNullObject(error) ? noMessage : error));
    return message.length <= longestMessage ? message : `${wordsOf(message)}… (${message.length} characters)`;
  } catch {
    return noMessage;
  }
}

function wordsOf(message: string): string {
  let end = longestMessage;
  while (end > 0 && !/\s/.test(message.charAt(end))) end -= 1;
  return message.slice(0, end);
}

/** A value as a message can show it: short, and never a throw, whatever it is. */
export function describeValue(value: unknown): string {
  if (typeof value === "string")
    return value.length > 60 ? `a text of ${value.length} characters` : JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol") return "a symbol";
  if (typeof value !== "object" || value === null) return String(value);
  try {
    if (!Array.isArray(value)) return "an object";
    return value.length === 0 ? "an empty list" : "a list";
  } catch {
    return "a revoked proxy";
  }
}

/** `instanceof` for any thrown value: a revoked proxy cannot be asked for its class, and is of none. */
export function isA<T>(value: unknown, type: abstract new (...given: never[]) => T): value is T {
  try {
    return value instanceof type;
  } catch {
    return false;
  }
}

/** Whether a value can have properties of its own: an object or a function. */
export function isObjectOrFunction(value: unknown): value is object {
  return isNonNullObject(value) || typeof value === "function";
}

/** Whether a value is an object, lists and instances of classes included; a function is none. */
export function isNonNullObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Goes on with what is there, or will be: a promise would cost more than most of what is done. */
export function after<T, R>(value: T | Promise<T>, goOn: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}

/** Collects values: synchronously where none of them is a promise. */
export function allOf<T>(all: readonly (T | Promise<T>)[]): readonly T[] | Promise<readonly T[]> {
  return all.some((each) => each instanceof Promise) ? Promise.all(all) : (all as readonly T[]);
}
