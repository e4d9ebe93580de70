export { runOf } from "./run-of.ts";
export { cutAfterLastStep, goesOn, lastingEnd, standingEntries, stepsIn } from "./standing.ts";
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
