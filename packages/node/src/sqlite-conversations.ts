// 1. A file that is not known to be ours is read, never written.
// 2. No statement waits for another connection's lock: it is tried again later, and the process goes on meanwhile.
// 3. What is saved is in the file when `save` resolves, as a whole.
import { DefinitionError, systemClock, type Clock } from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { messageOf, describeValue } from "@proviso/core/internal";
import { conversationId, conversationQuery, type ConversationStore } from "@proviso/runtime";
import { resolve } from "node:path";
import { openConversationFile, type ConversationFile } from "./sqlite-conversation-file.ts";
import type { ConversationRows } from "./sqlite-conversation-rows.ts";
import { sqliteError } from "./sqlite-error.ts";
import { isBusy, whenFree } from "./sqlite-waiting.ts";

/** Conversations in a file, for several processes. */
export interface SqliteConversations extends ConversationStore {
  /** Ends the use of the file; a second time it does nothing. */
  close(): void;
  [Symbol.dispose](): void;
}

/** What `sqliteConversations` takes beside the path. */
export interface SqliteConversationsOptions {
  /**
   * How long another process's write is waited for, in milliseconds. The process goes on meanwhile. Default 5,000; then
   * the method rejects with a SqliteError "busy".
   */
  readonly busyTimeoutMs?: number | undefined;
  /** Time and timers. Default: the system's. */
  readonly clock?: Clock | undefined;
}

/**
 * Keeps conversations in an SQLite file, for several processes of one machine. What is saved outlives the process; a power
 * cut may take the last of it. A new file can be read by its owner alone (mode 0600), and what is deleted or replaced is
 * overwritten in it. The folder is made where there is none. It needs Node 22.13.
 * @throws {DefinitionError} for wrong options, and for a file that is of a newer version or of something else; it is left
 * alone. Later, a SqliteError where the file cannot be written or read.
 */
export function sqliteConversations(path: string, options: SqliteConversationsOptions = {}): SqliteConversations {
  checkOptionNames("sqliteConversations", options, { busyTimeoutMs: true, clock: true });
  const { busyTimeoutMs = 5_000, clock = systemClock } = options;
  if (!Number.isSafeInteger(busyTimeoutMs) || busyTimeoutMs < 0) {
    throw new DefinitionError(
      `busyTimeoutMs has to be a whole number of milliseconds, not ${describeValue(busyTimeoutMs)}.`,
    );
  }
  if (typeof path !== "string" || path === "" || path === ":memory:" || path.includes("\0")) {
    throw new DefinitionError(
      "sqliteConversations takes the path of a file; memoryConversations() keeps conversations in memory.",
    );
  }
  // The process may go elsewhere later.
  const file = resolve(path);
  let open = opened(file);
  let isClosed = false;
  const rows = (): ConversationRows => {
    if (isClosed) throw new DefinitionError(`The file of conversations ${file} is closed.`);
    // Another process prepared the file when this store was made.
    open ??= openConversationFile(file);
    return open.rows;
  };
  /** Runs what needs the file, and again as long as another connection has the lock. */
  const run = <T>(doing: string, work: (rows: ConversationRows) => T): Promise<T> => {
    const what = `${doing} the file of conversations ${file}`;
    return whenFree({ clock, busyTimeoutMs, doing: what }, () => work(rows()));
  };
  const read = async <T>(id: string, work: (rows: ConversationRows) => T): Promise<T> => {
    conversationId(id);
    return run("Reading", work);
  };
  const write = async <T>(id: string, work: (rows: ConversationRows) => T): Promise<T> => {
    conversationId(id);
    return run("Writing", work);
  };
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    open?.close();
  };
  return Object.freeze<SqliteConversations>({
    name: `sqlite ${file}`,
    load: (id) => read(id, (all) => all.load(id)),
    acquire: (id, lease) => write(id, (all) => all.acquire(id, lease, clock.now())),
    renew: (id, lease) => write(id, (all) => all.renew(id, lease, clock.now())),
    save: (id, saved) => write(id, (all) => all.save(id, saved, clock.now())),
    release: (id, token) => write(id, (all) => all.release(id, token)),
    delete: (id) => write(id, (all) => all.delete(id)),
    async list(query) {
      const checked = conversationQuery(query);
      return run("Reading", (all) => all.list(checked));
    },
    close,
    [Symbol.dispose]: close,
  });
}

/** undefined: another process prepares the file now. @throws {DefinitionError} */
function opened(file: string): ConversationFile | undefined {
  try {
    return openConversationFile(file);
  } catch (cause) {
    if (cause instanceof DefinitionError) throw cause;
    if (isBusy(sqliteError(cause))) return undefined;
    throw new DefinitionError(`The file of conversations ${file} cannot be opened: ${messageOf(cause)}.`, { cause });
  }
}
