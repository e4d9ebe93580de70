import type { Session, Slice } from "@proviso/core";
import { coreOf } from "./session.ts";

/**
 * Gives a session the slices that it lacks, as an evaluation does when it begins.
 * @throws {DefinitionError} when it has another slice of such a name; none joins then.
 */
export function joinSlices(session: Session, slices: readonly Slice[]): void {
  coreOf(session).join(slices);
}
