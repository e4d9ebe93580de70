export { sqliteJournal } from "./sqlite-journal.ts";
export type { SqliteJournal, SqliteJournalOptions } from "./sqlite-journal.ts";
