import { systemClock } from "@proviso/core";
import type { DatabaseSync } from "node:sqlite";
import { sqliteError } from "./sqlite-error.ts";
import { isBusy } from "./sqlite-waiting.ts";

/** Milliseconds between two tries. */
const pauseMs = 5;

/**
 * Gives the file a write-ahead log. Of several processes that open a new file at once only one can, and SQLite does not
 * wait for it, whatever its `busy_timeout`: the others try again. It blocks the process meanwhile, as `busy_timeout` does.
 * @throws SQLite's error after so many milliseconds; one that only reads is waited for by SQLite itself, once more.
 */
export function useWriteAheadLog(database: DatabaseSync, timeoutMs: number): void {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  const until = systemClock.now() + timeoutMs;
  for (;;) {
    try {
      database.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (error) {
      if (systemClock.now() >= until || !isBusy(sqliteError(error))) throw error;
      Atomics.wait(sleeper, 0, 0, pauseMs);
    }
  }
}
