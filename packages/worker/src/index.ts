export { defineRun, type RunJob, type RunKind, type RunKindOptions } from "./kinds.ts";
export type { RunProgress } from "./progress.ts";
export { QueueError, type RunCounts, type RunQueue, type SuspendedRun, type WorkerOptions } from "./queue.ts";
