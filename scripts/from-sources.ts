import { inject } from "vitest";

/**
 * Node's arguments before a program that a test starts: it imports the packages as their sources are now, from bundles
 * (`test-bundles.ts`), in half of the time.
 */
export const fromSources: readonly string[] = [
  // Loading modules fills the young generation as it is by default several times.
  "--min-semi-space-size=16",
  "--conditions=@proviso/source",
  "--import",
  inject("bundles"),
];
