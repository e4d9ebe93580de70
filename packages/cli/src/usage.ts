import { nearestName } from "@proviso/core/internal";

/** A usage error: one line for the person at the terminal. */
export class UsageError extends Error {}

/** Returns what to add to a message about an unknown name: the nearest known one, where one is near. */
export function didYouMean(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  return near === undefined ? "" : `; did you mean ${near}?`;
}
