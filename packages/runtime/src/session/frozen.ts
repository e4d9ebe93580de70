import { freeze, isDraftable } from "immer";

/** From here on moved items are looked up: most of a list was moved, not brought in. */
const manyMisses = 16;

/** Objects that were frozen before, by somebody else: perhaps at the surface only. */
interface Walk {
  found: Set<object> | undefined;
}

/**
 * The same value, frozen at every depth; what somebody froze at the surface only too. What it shares with `before`,
 * which is frozen at every depth, is not looked into: a change costs what it brought in.
 */
export function frozen(value: unknown, before?: unknown): unknown {
  if (isObject(value) && value !== before) freezeNew(value, before, { found: undefined });
  return value;
}

function freezeNew(value: object, before: unknown, walk: Walk): void {
  const prototype: unknown = Object.getPrototypeOf(value);
  // Instances of classes are not state, and are left as they are.
  if (prototype !== Object.prototype && prototype !== Array.prototype && !isDraftable(value)) return;
  // Each is frozen before what it holds is looked at: one that holds itself is met again, frozen, and then found.
  if (!Object.isFrozen(value)) freeze(value);
  else if (walk.found?.has(value) === true) return;
  else (walk.found ??= new Set()).add(value);

  if (Array.isArray(value)) freezeItems(value, Array.isArray(before) ? before : [], walk);
  else if (value instanceof Map) {
    const old = before instanceof Map ? before : undefined;
    for (const [key, item] of value) freezeItem(item, old?.get(key), walk);
  } else if (value instanceof Set) {
    const old = before instanceof Set ? before : undefined;
    for (const item of value) if (old?.has(item) !== true) freezeItem(item, undefined, walk);
  } else {
    const old = isObject(before) ? (before as Record<string, unknown>) : {};
    for (const key of Object.keys(value)) freezeItem((value as Record<string, unknown>)[key], old[key], walk);
  }
}

function freezeItems(items: readonly unknown[], before: readonly unknown[], walk: Walk): void {
  let misses = 0;
  let known: Set<unknown> | undefined;
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    if (!isObject(item) || item === before[i]) continue;
    if (++misses > manyMisses && (known ??= new Set(before)).has(item)) continue;
    freezeNew(item, before[i], walk);
  }
}

function freezeItem(item: unknown, before: unknown, walk: Walk): void {
  if (isObject(item) && item !== before) freezeNew(item, before, walk);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
