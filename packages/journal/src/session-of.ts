// The session of a run as it was after a step: reduced again from the record.
import type { Session, Slice } from "@proviso/core";
import { entriesToStep, sessionAfter, standingEntries } from "@proviso/runtime/recording";
import type { ReadRun } from "./reading.ts";
import { noStep } from "./forking.ts";

/** @throws {JournalError} "not_found" for a step that is not there; {DefinitionError} for slices that do not fit. */
export function sessionOf(id: string, run: ReadRun, slices: readonly Slice[], at: number | undefined): Session {
  const standing = standingEntries(run.entries);
  const entries = at === undefined ? standing : entriesToStep(standing, at);
  if (entries === undefined) throw noStep(id, at);
  return sessionAfter(entries, slices);
}
