// 1. A file that is not known to be ours is read, never written.
// 2. No statement waits for another connection's lock: it is tried again later, and the process goes on meanwhile.
// 3. What is appended is in the file when `append` resolves, as a whole.
import { DefinitionError, JournalError, ProvisoError, systemClock, type Clock, type JournalFault } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import { SqliteError } from "@proviso/node";
import { isBusy, sqliteError, whenFree } from "@proviso/node/internal";
import { resolve } from "node:path";
import { checkFrames, checkRun, runId } from "./check-frames.ts";
import { LentFile } from "./lent-file.ts";
import { openFrameFile, type FrameFile } from "./sqlite-file.ts";
import { removedMeanwhile } from "./errors.ts";
import { pageSize, type FrameRows } from "./sqlite-rows.ts";
import type { JournalStore } from "./store.ts";

/** What `sqliteStore` takes beside the path. */
export interface SqliteStoreOptions {
  /**
   * How long another process's write is waited for, in milliseconds. The process goes on meanwhile. Default 5,000; then
   * the method rejects with a JournalError "busy".
   */
  readonly busyTimeoutMs?: number | undefined;
  /**
   * What an append survives: "process", the end of the process; "power", that of the machine too, for an fsync with each.
   * "read-only": the file has to be there, nothing is written to it, and an append fails. Default "process".
   */
  readonly durability?: "process" | "power" | "read-only" | undefined;
  /** Time and timers. Default: the system's. */
  readonly clock?: Clock | undefined;
}

/**
 * Keeps frames in an SQLite file in WAL mode, for several processes of one machine. What is appended outlives the process;
 * a power cut may take the last of it. A new file can be read by its owner alone (mode 0600); the folder is made where
 * there is none. It needs Node 22.13.
 * @throws {DefinitionError} for wrong options. {JournalError} for a file that is of a newer version, of something else or
 * damaged; it is left alone.
 */
export function sqliteStore(path: string, options: SqliteStoreOptions = {}): JournalStore {
  return openSqliteStore(path, options).store;
}

/** The store, and its file for resources that are in it too. */
export function openSqliteStore(
  path: string,
  options: SqliteStoreOptions,
): { readonly store: JournalStore; readonly lent: LentFile } {
  checkOptionNames("sqliteStore", options, { busyTimeoutMs: true, clock: true, durability: true });
  const { busyTimeoutMs = 5_000, clock = systemClock, durability = "process" } = options;
  if (!Number.isSafeInteger(busyTimeoutMs) || busyTimeoutMs < 0) {
    throw new DefinitionError(
      `busyTimeoutMs has to be a whole number of milliseconds, not ${describeValue(busyTimeoutMs)}.`,
    );
  }
  if (typeof path !== "string" || path === "" || path === ":memory:" || path.includes("\0")) {
    throw new DefinitionError("A journal in SQLite takes the path of a file.");
  }
  // The process may go elsewhere later.
  const file = resolve(path);
  let open = opened(file, durability);
  let isClosed = false;
  const openedFile = (): FrameFile => {
    if (isClosed) throw new JournalError(`The journal ${file} is closed.`, { reason: "closed" });
    // Another process prepared the file when this store was made.
    return (open ??= openFrameFile(file, durability));
  };
  const lent = new LentFile(openedFile);
  const { read, write } = accessTo(file, lent, { clock, busyTimeoutMs });
  const store = Object.freeze<JournalStore>({
    name: `sqlite ${file}`,
    async append(frames) {
      checkFrames(frames);
      return write((rows) => rows.append(frames));
    },
    ...readsOf(read),
    ...removalsOf(write),
    async appendRun(frames) {
      const run = checkRun(frames);
      return write((rows) => rows.appendRun(run, frames));
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      open?.close();
    },
  });
  return { store, lent };
}

function readsOf(read: Access["read"]): Pick<JournalStore, "read" | "list" | "summary"> {
  return {
    async *read(id, from = 0) {
      const key = await read((rows) => rows.keyOf(runId(id)));
      for (let next = from, pages = 0; key !== undefined; pages++) {
        const page = await read((rows) => rows.page(key, id, next));
        const last = page.at(-1);
        const isEnd = last === undefined || page.length < pageSize;
        if (isEnd && pages > 0 && (await read((rows) => rows.keyOf(id))) !== key) throw removedMeanwhile(id);
        yield* page;
        if (isEnd) return;
        next = last.first + last.count;
      }
    },
    async *list() {
      for (const key of await read((rows) => rows.keys())) {
        const summary = await read((rows) => rows.summary(key));
        if (summary !== undefined) yield summary;
      }
    },
    async summary(id) {
      const run = runId(id);
      return read((rows) => {
        const key = rows.keyOf(run);
        return key === undefined ? undefined : rows.summary(key)?.summary;
      });
    },
  };
}

function removalsOf(write: Access["write"]): Pick<JournalStore, "remove" | "removeUnchanged"> {
  return {
    async remove(runs) {
      const ids = runs.map(runId);
      await write((rows) => rows.remove(ids));
    },
    async removeUnchanged(runs) {
      const seen = runs.map(({ run, summary }) => ({ run: runId(run), summary }));
      return write((rows) => rows.removeUnchanged(seen));
    },
  };
}

interface Access {
  read<T>(work: (rows: FrameRows) => T): Promise<T>;
  write<T>(work: (rows: FrameRows) => T): Promise<T>;
}

/** Work on the rows of a file that others may have locked, or use now. */
function accessTo(
  file: string,
  lent: LentFile,
  { clock, busyTimeoutMs }: { readonly clock: Clock; readonly busyTimeoutMs: number },
): Access {
  const run = async <T>(doing: string, work: () => T): Promise<T> => {
    const waiting = { clock, busyTimeoutMs, doing: `${doing} the journal ${file}` };
    return whenFree(waiting, work).catch((error: unknown) => {
      throw journalError(error);
    });
  };
  return {
    async read(work) {
      // What may not be committed is not read.
      for (let settled = lent.settled(); settled !== undefined; settled = lent.settled()) await settled;
      return run("Reading", () => work(lent.rows()));
    },
    async write(work) {
      // A call may begin between the end of the wait and what follows it.
      while (lent.isLent()) await whenNotLent(lent, clock, busyTimeoutMs);
      const attempt = lent.write(work);
      return run("Writing", attempt).finally(() => lent.giveUp(attempt));
    },
  };
}

/** @throws {JournalError} "busy" where a call of this process has its transaction open for longer. */
async function whenNotLent(lent: LentFile, clock: Clock, ms: number): Promise<void> {
  const over = new AbortController();
  let isLate = false;
  const late = clock.sleep(ms, over.signal).then(
    () => {
      isLate = true;
    },
    () => {},
  );
  for (let free = lent.free(); free !== undefined && !isLate; free = lent.free()) await Promise.race([free, late]);
  over.abort();
  if (!lent.isLent()) return;
  const message = "The journal cannot be written now: a call has its transaction open in the same file.";
  throw new JournalError(message, { reason: "busy" });
}

/** undefined: another process prepares the file now. @throws {JournalError} */
function opened(file: string, durability: "process" | "power" | "read-only"): FrameFile | undefined {
  try {
    return openFrameFile(file, durability);
  } catch (cause) {
    const error = sqliteError(cause, `Opening the journal ${file}`);
    if (isBusy(error)) return undefined;
    throw journalError(error);
  }
}

/** Errors of ours pass as they are, but for those of SQLite. */
function journalError(error: unknown): Error {
  if (!(error instanceof SqliteError)) return error instanceof ProvisoError ? error : sqliteError(error);
  return new JournalError(error.message, { reason: reasonOf(error), cause: error });
}

function reasonOf({ reason, cause }: SqliteError): JournalFault {
  if (reason === "busy" || reason === "full") return reason;
  if (reason === "not_a_database") return "foreign";
  // SQLITE_CORRUPT. Source: https://www.sqlite.org/rescode.html
  const { errcode } = (cause ?? {}) as { readonly errcode?: unknown };
  return typeof errcode === "number" && (errcode & 0xff) === 11 ? "damaged" : "failed";
}
