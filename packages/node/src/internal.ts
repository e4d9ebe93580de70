// What the repository's own packages share of processes and of SQLite files. It is not for users: names here change without notice.
export { startInGroup } from "./processes/group-process.ts";
export type { GroupProcess } from "./processes/group-process.ts";
export { whyNotStarted } from "./processes/not-started.ts";
export { firstBytes, lastBytes } from "./processes/output-buffer.ts";
export type { OutputBuffer } from "./processes/output-buffer.ts";
export { endGroup, holdGroup, letGo } from "./processes/process-group.ts";
export { keptErrors, noExit, reapMs, started, withoutArguments } from "./processes/start.ts";
export type { Command, Exit } from "./processes/start.ts";
export { variablesNamed } from "./processes/variables.ts";
export { within } from "./processes/within.ts";
export { lentConnection } from "./sqlite-lent.ts";
export type { LentConnection, SqliteLender } from "./sqlite-lent.ts";
export { makePrivate } from "./private-file.ts";
export { sqliteError } from "./sqlite-error.ts";
export { sqliteModule } from "./sqlite-module.ts";
export { inTransaction, pragmaOf, rollBack } from "./sqlite-rows.ts";
export { isBusy, whenFree } from "./sqlite-waiting.ts";
