// Where a value differs from the recorded one.
import type { Divergence } from "@proviso/core";
import { isNonNullObject } from "@proviso/core/internal";

/** A difference, as a tape finds it. */
export type Difference = Omit<Divergence, "step" | "evaluationId">;

/** Characters of a value that a message shows. */
const longestShown = 200;

/** Returns the first place in which two values of plain JSON differ; undefined: nowhere. A field that is undefined is none. */
export function differenceIn(
  recorded: unknown,
  now: unknown,
  path = "",
): Pick<Difference, "path" | "recorded" | "now"> | undefined {
  if (Object.is(recorded, now)) return undefined;
  if (!hasFields(recorded) || !hasFields(now) || Array.isArray(recorded) !== Array.isArray(now)) {
    return { path, recorded, now };
  }
  if (Array.isArray(recorded) && Array.isArray(now)) {
    const longest = Math.max(recorded.length, now.length);
    for (let index = 0; index < longest; index++) {
      const found = differenceIn(recorded[index], now[index], `${path}[${index}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  for (const key of new Set([...Object.keys(recorded), ...Object.keys(now)])) {
    const found = differenceIn(recorded[key], now[key], path === "" ? key : `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether two values of plain JSON are the same. Anything that JSON would change is not. */
export function isSameJson(recorded: unknown, now: unknown): boolean {
  if (recorded === now) return true;
  if (!hasFields(recorded) || !hasFields(now)) return false;
  const isList = Array.isArray(now);
  // What a class makes may say itself what JSON has of it.
  if (Object.getPrototypeOf(now) !== (isList ? Array.prototype : Object.prototype)) return false;
  if (isList !== Array.isArray(recorded)) return false;
  if (isList && (recorded as unknown as unknown[]).length !== now.length) return false;
  let fields = 0;
  for (const key in now) {
    if (now[key] === undefined || !isSameJson(recorded[key], now[key])) return false;
    fields += 1;
  }
  for (const _ in recorded) fields -= 1;
  return fields === 0;
}

function hasFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return isNonNullObject(value);
}

/** A value as a message shows it. */
export function shownValue(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length <= longestShown ? text : `${text.slice(0, longestShown)}…`;
}
