export { journalRuns } from "./journal/journal-runs.ts";
export type { ReadOptions } from "./journal/journal-runs.ts";
export { openRuns } from "./journal/open-runs.ts";
export { startViewer } from "./server/start-viewer.ts";
export type { Viewer, ViewerOptions } from "./server/start-viewer.ts";
export type { AttemptView, EvalReader, EvalSummary, EvalView, Interval } from "@proviso/core";
