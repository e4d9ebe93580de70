// State is plain data that nothing can change in place: what is frozen at every depth needs no copy to be put back.
// Events are frozen in the same way: all of their readers see the same.
import { DefinitionError } from "../errors.ts";
import { isForbiddenKey, isOutOfStack, tooDeep } from "../json.ts";

/** The number of mismatched positions after which the old items are looked up in a Set: the list was probably reordered. */
const manyMisses = 16;
/** The number of frozen objects after which they are remembered: one that is met again is not walked again. */
const manyFrozen = 64;

/**
 * One walk through a state. Objects that other code froze may be frozen at the surface only, so they are walked too.
 */
interface Walk {
  /** What cannot be frozen is refused; else it is passed over. */
  readonly strict: boolean;
  frozen: number;
  found: Set<object> | undefined;
}

/** What cannot be kept in a state, and where: the path begins at the innermost key. */
interface Odd {
  readonly path: PropertyKey[];
  readonly problem: string;
}

/**
 * Freezes a state at every depth and returns it; objects that are frozen at the surface only are frozen below, too.
 * What it shares with `before`, which is frozen at every depth, is not walked: a change costs what it brought in.
 * @throws {DefinitionError} for what could still be changed in place (a Date, a typed array, an instance of a class, a
 * function) and for what nests too deep, with the slice and the path; some of the state is frozen then.
 */
export function frozenState<State>(slice: string, state: State, before?: unknown): State {
  const odd = frozenOrOdd(state, before);
  if (odd === undefined) return state;
  const where = odd.path.length === 0 ? "it" : pathText("", odd.path.toReversed());
  throw new DefinitionError(
    `The slice "${slice}" cannot hold this state: ${where} ${odd.problem}. Keep plain data in it: ` +
      "texts, numbers, lists, objects, Map and Set; a time as a text or as milliseconds.",
  );
}

function frozenOrOdd(state: unknown, before: unknown): Odd | undefined {
  try {
    return freezeItem(state, before, { strict: true, frozen: 0, found: undefined });
  } catch (error) {
    if (isOutOfStack(error)) return { path: [], problem: tooDeep };
    throw error;
  }
}

/**
 * Freezes an object at every depth, a Map and a Set too, and returns it. What cannot be frozen (a Date, a typed array,
 * an instance of a class) is passed over.
 * @throws {RangeError} for what is nested too deep, and whatever a getter or a proxy in it throws.
 */
export function frozenInDepth<T extends object>(value: T): T {
  Object.freeze(value);
  // Whatever it is an instance of.
  freezeFields(value, undefined, { strict: false, frozen: 0, found: undefined });
  return value;
}

/** `a[1].b`; of a long path its beginning. */
export function pathText(start: string, path: readonly PropertyKey[]): string {
  const shown = path.slice(0, 12);
  const text = shown.reduce<string>((before, key) => {
    if (typeof key === "number") return `${before}[${key}]`;
    return before === "" ? String(key) : `${before}.${String(key)}`;
  }, start);
  return shown.length < path.length ? `${text}…` : text;
}

/** What a state may hold; undefined for all that could be changed in place. */
type Kind = "list" | "object" | "map" | "set" | undefined;

function kindOf(value: object): Kind {
  if (typeof value === "function") return undefined;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype) return "object";
  // The prototype of a list of another realm, such as a test runner's, is a list, too; that of a subclass is not.
  if (Array.isArray(value)) return Array.isArray(prototype) ? "list" : undefined;
  if (prototype === null) return "object";
  if (prototype === Map.prototype) return "map";
  if (prototype === Set.prototype) return "set";
  return isForeignObjectPrototype(prototype as object) ? "object" : undefined;
}

const nativeObject = Function.prototype.toString.call(Object);

/** `Object.prototype` of another realm. */
function isForeignObjectPrototype(prototype: object): boolean {
  if (Object.getPrototypeOf(prototype) !== null || !Object.hasOwn(prototype, "constructor")) return false;
  const made: unknown = prototype.constructor;
  return typeof made === "function" && Function.prototype.toString.call(made) === nativeObject;
}

function nameOfKind(value: object): string {
  if (typeof value === "function") return "function";
  const { name } = (value.constructor ?? {}) as { readonly name?: unknown };
  return typeof name === "string" && name !== "" ? name : "special object";
}

function freezeNew(value: object, before: unknown, walk: Walk): Odd | undefined {
  const kind = kindOf(value);
  if (kind === undefined) return walk.strict ? { path: [], problem: `is a ${nameOfKind(value)}` } : undefined;
  // An object is frozen before its fields are walked: one that holds itself is met again, frozen, and found then.
  if (!Object.isFrozen(value)) freezeSurface(value, kind);
  else if (isFound(value, walk)) return undefined;
  switch (kind) {
    case "list":
      return freezeItems(value as unknown[], Array.isArray(before) ? before : none, walk);
    case "map":
      return freezeEntries(value as Map<unknown, unknown>, before instanceof Map ? before : undefined, walk);
    case "set":
      return freezeMembers(value as Set<unknown>, before instanceof Set ? before : undefined, walk);
    case "object":
      return freezeFields(value, before, walk);
  }
}

/** A circle of a few objects is gone round a few times before it is noticed; most states need no Set for it. */
function isFound(value: object, walk: Walk): boolean {
  if (++walk.frozen <= manyFrozen) return false;
  walk.found ??= new Set();
  if (walk.found.has(value)) return true;
  walk.found.add(value);
  return false;
}

const immutable: PropertyDescriptor = {
  value() {
    throw new TypeError("This is frozen: only a reducer's draft of a state can be changed.");
  },
};
const changing = { set: immutable, add: immutable, clear: immutable, delete: immutable };

function freezeSurface(value: object, kind: Kind): void {
  // Freezing a Map does not keep its methods from changing it.
  if (kind === "map" || kind === "set") Object.defineProperties(value, changing);
  Object.freeze(value);
}

function freezeItems(items: readonly unknown[], before: readonly unknown[], walk: Walk): Odd | undefined {
  let misses = 0;
  let known: Set<unknown> | undefined;
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    if (!isHeld(item) || item === before[i]) continue;
    if (++misses > manyMisses && (known ??= new Set(before)).has(item)) continue;
    const odd = freezeNew(item, before[i], walk);
    if (odd !== undefined) return within(i, odd);
  }
  return undefined;
}

function freezeEntries(
  entries: ReadonlyMap<unknown, unknown>,
  before: ReadonlyMap<unknown, unknown> | undefined,
  walk: Walk,
): Odd | undefined {
  for (const [key, item] of entries) {
    // Drafts do not reach into keys: one that is an object would be changed in place.
    const odd = before?.has(key) === true ? undefined : freezeItem(key, undefined, walk);
    if (odd !== undefined) return within("(a key)", odd);
    const inner = freezeItem(item, before?.get(key), walk);
    if (inner !== undefined) return within(isHeld(key) ? "(an entry)" : (key as PropertyKey), inner);
  }
  return undefined;
}

function freezeMembers(
  members: ReadonlySet<unknown>,
  before: ReadonlySet<unknown> | undefined,
  walk: Walk,
): Odd | undefined {
  for (const item of members) {
    const odd = before?.has(item) === true ? undefined : freezeItem(item, undefined, walk);
    if (odd !== undefined) return within("(an item)", odd);
  }
  return undefined;
}

function freezeFields(value: object, before: unknown, walk: Walk): Odd | undefined {
  const old = isHeld(before) ? (before as Readonly<Record<PropertyKey, unknown>>) : nothing;
  const fields = value as Readonly<Record<PropertyKey, unknown>>;
  // V8 reads fields in such a loop twice as fast as in any other way; plain objects inherit none.
  for (const key in fields) {
    if (walk.strict && isForbiddenKey(key)) return within(key, { path: [], problem: "is a key that is not allowed" });
    const item = fields[key];
    if (!isHeld(item) || item === old[key]) continue;
    const odd = freezeNew(item, old[key], walk);
    if (odd !== undefined) return within(key, odd);
  }
  return walk.strict ? freezeSymbols(fields, old, walk) : undefined;
}

function freezeSymbols(
  fields: Readonly<Record<PropertyKey, unknown>>,
  old: Readonly<Record<PropertyKey, unknown>>,
  walk: Walk,
): Odd | undefined {
  for (const key of Object.getOwnPropertySymbols(fields)) {
    const odd = freezeItem(fields[key], old[key], walk);
    if (odd !== undefined) return within(key, odd);
  }
  return undefined;
}

const none: readonly never[] = [];
const nothing: Readonly<Record<PropertyKey, unknown>> = Object.freeze({});

function freezeItem(item: unknown, before: unknown, walk: Walk): Odd | undefined {
  return isHeld(item) && item !== before ? freezeNew(item, before, walk) : undefined;
}

/** Is it held by reference? */
function isHeld(value: unknown): value is object {
  return typeof value === "object" ? value !== null : typeof value === "function";
}

function within(key: PropertyKey, odd: Odd): Odd {
  odd.path.push(key);
  return odd;
}
