export { folderJournal } from "./folder-journal.ts";
export { sqliteJournal } from "./sqlite-journal.ts";
export type { Retention } from "./retention.ts";
export type { SqliteJournal, SqliteJournalOptions } from "./sqlite-journal.ts";
