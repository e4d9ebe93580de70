// What a journal is made of. It is not for users: names here change without notice.
export { bodyOf, entriesOf } from "./format.ts";
export { keptEntries, lastEntry, wasDecidedSo } from "./create-journal.ts";
export { runId } from "./check-frames.ts";
export { folderStore } from "./folder-store.ts";
export { newestSummary } from "./store.ts";
export { readSummary, type SavedSummary } from "./summary.ts";
export { machineProcesses } from "./node-processes.ts";
export { memoryStore } from "./memory-store.ts";
export { postgresStore } from "./postgres-store.ts";
export { isOtherRun, markOf } from "./reading.ts";
export { readFrames } from "./read-frames.ts";
export { openSqliteStore, sqliteStore, type SqliteStoreOptions } from "./sqlite-store.ts";
export { journalAt, storeToRead } from "./store-at.ts";
export { frameSum, ownCrc32 } from "./sum.ts";
