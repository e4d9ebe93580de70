import { DefinitionError, systemClock, type Blobs } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";

/** A day. */
const usualAgeMs = 86_400_000;

/** What a sweep leaves: what is named, and what was put after the moment. */
export interface SweepBounds {
  readonly named: ReadonlySet<string>;
  /** Epoch milliseconds. What was put at that moment or before it is old. */
  readonly latest: number;
}

/**
 * Checks the options of a sweep: one that is misspelt, left out or of another kind would remove what is needed.
 * @throws {DefinitionError} where one is wrong. Nothing has been removed then.
 */
export function sweepBounds(options: Parameters<Blobs["sweep"]>[0]): SweepBounds {
  checkOptionNames("sweep", options, { keep: true, olderThanMs: true });
  const { keep, olderThanMs = usualAgeMs } = options;
  if (typeof olderThanMs !== "number" || !(olderThanMs >= 0)) {
    throw new DefinitionError(`olderThanMs has to be a number from 0, not ${describeValue(olderThanMs)}.`);
  }
  const isList = typeof keep === "object" && keep !== null && Symbol.iterator in keep;
  const named = isList ? [...keep] : undefined;
  if (named === undefined || !named.every((hash) => typeof hash === "string")) {
    throw new DefinitionError("keep has to be a list of hashes: what it does not name is removed.");
  }
  return { named: new Set(named), latest: systemClock.now() - olderThanMs };
}

/**
 * Checks the most bytes that a store keeps of one file.
 * @throws {DefinitionError} unless it is a number from 0.
 */
export function checkMaxBytes(of: string, maxBytes: number): void {
  if (typeof maxBytes === "number" && maxBytes >= 0) return;
  throw new DefinitionError(`maxBytes of ${of} has to be a number from 0, not ${describeValue(maxBytes)}.`);
}
