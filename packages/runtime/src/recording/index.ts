export { sessionAfter } from "./rebuilt.ts";
export { recordedBeginning } from "./run-value.ts";
export type { RecordedBeginning } from "./run-value.ts";
export { runOf } from "./run-of.ts";
export { cutAfterLastStep, entriesToStep, lastingEnd, standingEntries, stepsOf } from "./standing.ts";
export type { Cut } from "./standing.ts";
export type {
  EntryBase,
  EntryContent,
  EntryOf,
  JournalEntry,
  OpenedSource,
  RecordedEvent,
  RunSource,
  UnknownCall,
} from "./entries.ts";
