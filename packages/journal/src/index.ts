export { createJournal } from "./create-journal.ts";
export { memoryJournal } from "./memory-journal.ts";
export type {
  Effect,
  ForkOptions,
  Journal,
  JournalOptions,
  ReplayOptions,
  RunDescription,
  RunFilter,
  RunOptions,
  RunState,
  RunStep,
  RunSummary,
} from "./journal.ts";
export type { Frame, JournalStore } from "./store.ts";
export type { JournalEntry } from "@proviso/runtime/recording";
