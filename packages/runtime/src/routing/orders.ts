import { DefinitionError, type Prompt } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";

/** One adapter of a chain, as far as it is known here. */
export interface RouteCandidate {
  /** The adapter's place in the list that was given. */
  readonly index: number;
  /** The name of the adapter. */
  readonly provider: string;
  /** The model that the adapter asks. */
  readonly model: string;
  /** Whether it has failed so often that it is not asked now. */
  readonly open: boolean;
  /** Milliseconds: half of the last 100 requests were answered within them; undefined before the first answer. */
  readonly p50Ms: number | undefined;
  /** Milliseconds: 95 of the last 100 requests were answered within them; undefined before the first answer. */
  readonly p95Ms: number | undefined;
  /** The failures among the last 100 requests, 0 to 1; undefined before the first. */
  readonly failureShare: number | undefined;
  /** US dollars for the evaluation's first request, an estimate; undefined where the price is not known. */
  readonly costUsd: number | undefined;
}

/** Says who is asked first. It leaves out whom it does not want; an empty list is as if all were given. */
export type RouteOrder = (candidates: readonly RouteCandidate[], prompt: Prompt) => readonly RouteCandidate[];

/**
 * The cheapest first; those whose price is not known come last. `withinMs`: those that answer 95 of 100 requests later
 * than that, in milliseconds, come after all others.
 * @throws {DefinitionError} for a `withinMs` that is not positive.
 */
export function cheapestFirst({ withinMs = Infinity }: { readonly withinMs?: number } = {}): RouteOrder {
  if (!(withinMs > 0)) {
    throw new DefinitionError(`cheapestFirst: withinMs must be a positive number, not ${describeValue(withinMs)}.`);
  }
  const isLate = ({ p95Ms = 0 }: RouteCandidate): number => (p95Ms > withinMs ? 1 : 0);
  return (candidates) =>
    [...candidates].sort((a, b) => isLate(a) - isLate(b) || compare(a.costUsd ?? Infinity, b.costUsd ?? Infinity));
}

/** The fastest first, by the median of its last answers. One that has not answered yet comes before, to be known too. */
export function fastestFirst(): RouteOrder {
  return (candidates) => [...candidates].sort((a, b) => compare(a.p50Ms ?? 0, b.p50Ms ?? 0));
}

function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
