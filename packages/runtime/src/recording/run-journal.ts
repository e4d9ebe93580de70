import type { JournalRun } from "@proviso/core";

/** What keeps evaluations as runs: any journal of `@proviso/journal`. */
export interface RunJournal {
  /** Makes a run, under an id that is made up. */
  run(): JournalRun;
}
