import { nearestName } from "@proviso/core/internal";

/** A usage error: one line for the person at the terminal. */
export class UsageError extends Error {}

/** What was given, as a message shows it: in quotes where it would not be seen, or not where it ends. */
export function shown(given: string): string {
  return given === "" || /\s/u.test(given) ? JSON.stringify(given) : given;
}

/** Returns what to add to a message about an unknown name: the nearest known one, where one is near. */
export function didYouMean(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  return near === undefined ? "" : `; did you mean ${near}?`;
}
