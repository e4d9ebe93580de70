import { freeze } from "immer";

/** The same value, frozen at every depth. */
export function frozen(state: unknown): unknown {
  return freeze(state, true);
}
