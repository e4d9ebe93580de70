// The order of calls that overlap.
import type { ToolCall, ToolInvoked } from "@proviso/core";
import type { Invocation } from "./invocation.ts";

/** Sorts the results in the model's order, whichever ended first. */
export function orderResults(results: ToolInvoked[], from: number, calls: readonly ToolCall[]): void {
  if (results.length - from < 2) return;
  const places = new Map(calls.map(({ id }, place) => [id, place]));
  const placeOf = ({ callId }: ToolInvoked): number => places.get(callId) ?? calls.length;
  const sorted = results.slice(from).toSorted((a, b) => placeOf(a) - placeOf(b));
  // The arguments of a call are bounded, and the calls of a model are not.
  for (const [place, result] of sorted.entries()) results[from + place] = result;
}

/** The places of the calls, in the order in which they are recorded. */
export function stoppedLast(invocations: readonly Invocation[]): readonly number[] {
  const places = [...invocations.keys()];
  const isStopped = (place: number): boolean => invocations[place]?.stop !== undefined;
  return [...places.filter((place) => !isStopped(place)), ...places.filter(isStopped)];
}
