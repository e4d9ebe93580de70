import { isForbiddenKey, largestValue, plainCopy, toJsonValue } from "./json.ts";

/** Levels of a state. */
const deepestState = 200;
/** Levels of a result: what is deeper holds itself, or could not be written as JSON either. */
const deepestResult = 2_500;

/** What JSON cannot hold, and where. */
export interface OddInJson {
  readonly path: readonly PropertyKey[];
  readonly problem: string;
}

/**
 * The first thing in a value that JSON could not carry there and back: undefined in a list, NaN, a bigint, a Date, a Map,
 * an instance of a class, a function, a circle. At the root and in an object's field undefined is left out.
 */
export function oddInJson(value: unknown): OddInJson | undefined {
  return withPath(findOdd(value, deepestState));
}

/** A frozen copy of a value that is plain JSON, or the first thing in it that is not. May throw what a getter throws. */
export function asJson(value: unknown): { readonly value: unknown } | { readonly odd: OddInJson } {
  const copy = plainCopy(value);
  if (copy !== undefined) return copy;
  const found = withPath(findOdd(value, deepestResult));
  return found === undefined ? (toJsonValue(value) ?? { odd: odd(tooLarge) }) : { odd: found };
}

/** What is found carries its keys from the innermost to the outermost: at any depth each is added once. */
interface Found {
  readonly path: PropertyKey[];
  readonly problem: string;
}

function withPath(found: Found | undefined): OddInJson | undefined {
  return found && { path: found.path.toReversed(), problem: found.problem };
}

const tooLarge = `is larger than ${largestValue} characters, of which each item counts as 16`;

/** `left`: the levels that may follow. */
function findOdd(value: unknown, left: number): Found | undefined {
  if (value === null || value === undefined || typeof value === "string" || typeof value === "boolean")
    return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : odd(`is ${value}`);
  if (typeof value !== "object") return odd(`is a ${typeof value}`);
  if (left < 0) return odd("lies too deep: it may hold itself");
  if (Array.isArray(value)) return findOddItem(value, left);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return odd(`is a ${nameOfClass(value)}`);
  for (const key of Reflect.ownKeys(value)) {
    const item = (value as Record<PropertyKey, unknown>)[key];
    if (typeof key === "symbol") return within(key, odd("has a symbol as its key"));
    if (isForbiddenKey(key)) return within(key, odd("is a key that is not allowed"));
    const inner = findOdd(item, left - 1);
    if (inner !== undefined) return within(key, inner);
  }
  return undefined;
}

function findOddItem(items: readonly unknown[], left: number): Found | undefined {
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    const inner = item === undefined ? odd("is undefined") : findOdd(item, left - 1);
    if (inner !== undefined) return within(index, inner);
  }
  // A list without holes has as many keys as items.
  if (Object.keys(items).length > items.length) return odd("is a list with properties of its own");
  return undefined;
}

const odd = (problem: string): Found => ({ path: [], problem });

function within(key: PropertyKey, found: Found): Found {
  found.path.push(key);
  return found;
}

function nameOfClass(value: object): string {
  const { name } = (value.constructor ?? {}) as { readonly name?: unknown };
  return typeof name === "string" && name !== "" ? name : "special object";
}
