// What a cut leaves of a secret is found by no search: a text is cut before a secret or after it, never inside one.
import type { Finder } from "./finder.ts";

/** The side of a secret that a cut moves to. */
export type Side = "before" | "after";

/** Secrets that a cut goes beside. */
export interface UncutSecrets {
  /** Where a text can be cut instead, so that the cut goes through no secret. */
  beside(text: string, at: number, side: Side): number;
}

/** Characters behind a cut that are looked at together. */
const step = 1_024;

/** Returns the place, or the nearest one on that side which is inside no secret. No more is read than that takes. */
export function placeBeside(finder: Finder, text: string, at: number, side: Side): number {
  let read = Math.min(text.length, Math.max(0, at));
  let known = finder.add(text.slice(0, read));
  for (;;) {
    const around = finder.found.findLast(({ start }) => start < at);
    const place = around === undefined || around.end <= at ? at : around[side === "before" ? "start" : "end"];
    if (known >= Math.max(at, place)) return place;
    known = read < text.length ? finder.add(text.slice(read, (read += step))) : Math.max(finder.end(), at);
  }
}

/** The beginning of a text: at most so many UTF-16 units, and no part of a secret. The secrets in it are still there. */
export function beginningOf(text: string, most: number, secrets: UncutSecrets | undefined): string {
  if (text.length <= most) return text;
  return text.slice(0, secrets?.beside(text, most, "before") ?? most);
}

/** The end of a text: at most so many UTF-16 units, and no part of a secret. The secrets in it are still there. */
export function endOf(text: string, most: number, secrets: UncutSecrets | undefined): string {
  const at = text.length - most;
  return at <= 0 ? text : text.slice(secrets?.beside(text, at, "after") ?? at);
}
