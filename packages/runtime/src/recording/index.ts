export { recordedParams } from "./begun.ts";
export { emptyEnd, isEmptyEnd } from "./empty-attempts.ts";
export { insideAnswers } from "./inside.ts";
export { sessionAfter } from "./rebuilt.ts";
export { recordedBeginning } from "./run-value.ts";
export type { RecordedBeginning } from "./run-value.ts";
export { runOf } from "./run-of.ts";
export {
  AttemptStops,
  cutAfterLastStep,
  endsNotKnown,
  entriesToReplay,
  entriesToStep,
  fixedAt,
  isAtRest,
  lastingEnd,
  lostCalls,
  standingEntries,
  unknownCalls,
} from "./standing.ts";
export type { Cut } from "./standing.ts";
export { unansweredBefore } from "./unanswered.ts";
export { StepCounter } from "./steps.ts";
export {
  hashOfToken,
  isExpired,
  pendingOf,
  runOfToken,
  suspendedCalls,
  suspendedEver,
  withDecisions,
} from "./suspension.ts";
export type {
  EntryBase,
  EntryContent,
  EntryOf,
  JournalEntry,
  PolicyStep,
  RecordedEvent,
  Resolution,
  SuspendedCall,
} from "./entries.ts";
export { contentOf, journalEntry, keptEntry, knownContent } from "./kept-entry.ts";
export type { KeptEntry, MadeEntry } from "./kept-entry.ts";
export type { Together } from "./together.ts";
export type { LostCall, OpenedSource, RunSource, UnknownCall } from "./run-source.ts";
