export { journalRuns } from "./journal/journal-runs.ts";
export type { ReadOptions } from "./journal/journal-runs.ts";
