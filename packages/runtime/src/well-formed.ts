// Half of a surrogate pair is no character: JSON writes it as an escape that services refuse, or change in their own way.
import type { Message } from "@proviso/core";

/** A message as it may go to a wire: U+FFFD in place of each half surrogate pair. The same object where there is none. */
export function wellFormedMessage<M extends Message>(message: M): M {
  return isWellFormed(message) ? message : (wellFormed(message) as M);
}

/** Looks without making anything: nearly all messages are. */
function isWellFormed(value: unknown, depth = 0): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null || depth > deepest) return true;
  if (Array.isArray(value)) return value.every((item: unknown) => isWellFormed(item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return true;
  // Plain objects inherit nothing, and a list of the keys would be made for each of them.
  for (const key in value) {
    if (!key.isWellFormed()) return false;
    if (!isWellFormed((value as Readonly<Record<string, unknown>>)[key], depth + 1)) return false;
  }
  return true;
}

/** Texts and keys, at every depth of plain data; the same reference where nothing has to be changed. */
function wellFormed(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return value.isWellFormed() ? value : value.toWellFormed();
  if (typeof value !== "object" || value === null || depth > deepest) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => wellFormed(item, depth + 1));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const entries = Object.entries(value);
  const changed = entries.map(([key, item]) => [key.toWellFormed(), wellFormed(item, depth + 1)] as const);
  const isSame = changed.every(([key, item], index) => key === entries[index]?.[0] && item === entries[index]?.[1]);
  return isSame ? value : Object.fromEntries(changed);
}

/** Levels of a provider's own items: deeper than a body may be. */
const deepest = 300;
