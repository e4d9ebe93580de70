// 1. Each method is one statement or a list of them that read: a pool gives any connection for each.
// 2. What is appended is one statement of a function in the database: it is kept as a whole, and runs are locked in one order.
// 3. Every statement may be sent again after a lost connection: frames that stand are no conflict.
import { DefinitionError, JournalError, ProvisoError, systemClock, type Clock } from "@proviso/core";
import { describeValue, messageOf } from "@proviso/core/internal";
import { checkFrames, checkRun, runId } from "./check-frames.ts";
import { removedMeanwhile } from "./errors.ts";
import { appendName, schemaStatement, versionIn } from "./postgres-schema.ts";
import type { Frame, JournalStore } from "./store.ts";

/** What is used of a client of Postgres: a `Pool` or a `Client` of `pg` is one, and so is a `PGlite`. */
export interface PostgresClient {
  /** Runs one statement. */
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly object[] }>;
  /** Listens to events, "error" alone: those of `pg` emit it for a connection that ended while it was idle. */
  on?(event: "error", listener: (error: Error) => void): unknown;
  /** Ends the listening when the journal is closed. */
  off?(event: "error", listener: (error: Error) => void): unknown;
}

type Row = Readonly<Record<string, unknown>>;
type Query = (text: string, values?: unknown[]) => Promise<readonly Row[]>;

/** Rows that are read at once. */
const pageSize = 64;

/**
 * Keeps frames in two tables of a Postgres database, for processes on several machines. The tables are made when they are
 * first used. The client stays the caller's: closing the store does not close it.
 * @throws {DefinitionError} for no client and a prefix that cannot be. When first used: {JournalError} for tables of a newer
 * version or of something else.
 */
export function postgresStore(
  client: PostgresClient,
  { prefix = "proviso", clock = systemClock }: { readonly prefix?: string | undefined; readonly clock?: Clock } = {},
): JournalStore {
  if (typeof client?.query !== "function") {
    throw new DefinitionError(
      `A journal in Postgres takes a client with query(text, values), not ${describeValue(client)}.`,
    );
  }
  if (typeof prefix !== "string" || !/^[a-z_]{1,40}$/u.test(prefix)) {
    throw new DefinitionError(`prefix has 1 to 40 small letters and "_", not ${describeValue(prefix)}.`);
  }
  const name = `postgres ${prefix}`;
  // A pool emits the end of an idle connection as an error, which would end the process where no one listens.
  client.on?.("error", ignored);
  let isClosed = false;
  let preparing: Promise<void> | undefined;
  const send: Query = (text, values) => sent(client, clock, text, values);
  const query: Query = async (text, values) => {
    if (isClosed) throw new JournalError(`The journal in ${name} is closed.`, { reason: "closed" });
    preparing ??= prepared(send, prefix).catch((error: unknown) => {
      // What hindered it may be gone the next time.
      preparing = undefined;
      throw error;
    });
    await preparing;
    return send(text, values);
  };
  return Object.freeze<JournalStore>({
    name,
    async append(given) {
      checkFrames(given);
      if (given.length === 0) return [];
      const plain = given.map(({ run, first, count, writer, begunBy, body, sum, summary }) => {
        return { begunBy, run, first, count, writer, body, sum, summary };
      });
      const [row] = await query(`SELECT ${appendName(prefix)}($1::text::json) AS kept`, [JSON.stringify(plain)]);
      return String(row?.["kept"])
        .split(",")
        .map((kept) => (kept === "kept" ? "kept" : "fenced"));
    },
    ...readsOf(query, prefix),
    async remove(ids) {
      const wanted = JSON.stringify(ids.map(runId));
      const gone = "run IN (SELECT json_array_elements_text($1::text::json))";
      await query(`DELETE FROM ${prefix}_runs WHERE ${gone}`, [wanted]);
    },
    ...wholeRunsOf(query, prefix),
    async close() {
      if (!isClosed) client.off?.("error", ignored);
      isClosed = true;
    },
  });
}

/** What ends a connection is seen by the next statement. */
const ignored = (): void => {};

function wholeRunsOf(query: Query, prefix: string): Pick<JournalStore, "removeUnchanged" | "appendRun"> {
  const [runs, frames] = [`${prefix}_runs`, `${prefix}_frames`];
  return {
    async removeUnchanged(seen) {
      const wanted = JSON.stringify(seen.map(({ run, summary }) => ({ run: runId(run), summary })));
      // A run that another process appends to meanwhile has another `changed` when its row is locked, and stays.
      const gone = await query(
        `DELETE FROM ${runs} USING (
           SELECT ${runs}.key, ${runs}.changed FROM ${runs}
           JOIN json_to_recordset($1::text::json) AS seen (run text, summary text) ON seen.run = ${runs}.run
           WHERE seen.summary = (SELECT summary FROM ${frames} WHERE ${frames}.key = ${runs}.key ORDER BY first DESC LIMIT 1)
         ) AS same WHERE ${runs}.key = same.key AND ${runs}.changed = same.changed RETURNING ${runs}.key`,
        [wanted],
      );
      return gone.length;
    },
    async appendRun(given) {
      const run = checkRun(given);
      const rows = given.map(({ first, count, writer, body, sum, summary }) => {
        return { first, count, writer, body, sum, summary };
      });
      const length = given.reduce((sum, { count }) => sum + count, 0);
      const kept = await query(
        `WITH begun AS (
           INSERT INTO ${runs} (run, length, changed) VALUES ($1, $2, nextval('${prefix}_changes'))
           ON CONFLICT (run) DO NOTHING RETURNING key
         )
         INSERT INTO ${frames} (key, first, count, writer, body, sum, summary)
         SELECT begun.key, one.* FROM begun, json_to_recordset($3::text::json) AS one (
           first bigint, count bigint, writer text, body text, sum bigint, summary text
         ) RETURNING first`,
        [run, length, JSON.stringify(rows)],
      );
      return kept.length > 0;
    },
  };
}

function readsOf(query: Query, prefix: string): Pick<JournalStore, "read" | "list" | "summary"> {
  const [runs, frames] = [`${prefix}_runs`, `${prefix}_frames`];
  const keyOf = async (run: string): Promise<unknown> =>
    (await query(`SELECT key FROM ${runs} WHERE run = $1`, [run]))[0]?.["key"];
  return {
    async *read(id, from = 0) {
      const run = runId(id);
      const key = await keyOf(run);
      for (let next = from, pages = 0; key !== undefined; pages++) {
        const page = await query(
          `SELECT first, count, writer, body, sum, summary FROM ${frames}
           WHERE key = $1 AND first >= coalesce((SELECT max(first) FROM ${frames} WHERE key = $1 AND first <= $2), 0)
           AND first + count > $2 ORDER BY first LIMIT ${pageSize}`,
          [key, next],
        );
        const read = page.map((row) => frameOf(run, row));
        const last = read.at(-1);
        const isEnd = last === undefined || read.length < pageSize;
        if (isEnd && pages > 0 && (await keyOf(run)) !== key) throw removedMeanwhile(run);
        yield* read;
        if (isEnd) return;
        next = last.first + last.count;
      }
    },
    async *list() {
      // The keys are read at once: a run that changes meanwhile is not passed over.
      const keys = (await query(`SELECT key FROM ${runs} ORDER BY changed DESC`)).map(({ key }) => String(key));
      for (let at = 0; at < keys.length; at += pageSize) {
        const page = keys.slice(at, at + pageSize);
        const rows = await query(
          `SELECT key, run, newest.summary FROM ${runs} JOIN LATERAL (
             SELECT summary FROM ${frames} WHERE ${frames}.key = ${runs}.key ORDER BY first DESC LIMIT 1
           ) newest ON true WHERE key IN (SELECT value::bigint FROM json_array_elements_text($1::text::json))`,
          [JSON.stringify(page)],
        );
        const byKey = new Map(rows.map((row) => [String(row["key"]), row]));
        for (const key of page) {
          const row = byKey.get(key);
          if (row !== undefined) yield { run: String(row["run"]), summary: String(row["summary"]) };
        }
      }
    },
    async summary(run) {
      const [row] = await query(
        `SELECT summary FROM ${frames} JOIN ${runs} USING (key) WHERE run = $1 ORDER BY first DESC LIMIT 1`,
        [runId(run)],
      );
      return row && String(row["summary"]);
    },
  };
}

/** A frame of a row; Postgres' clients give whole numbers of 64 bits as texts. */
function frameOf(run: string, { first, count, writer, body, sum, summary }: Row): Frame {
  return {
    run,
    first: Number(first),
    count: Number(count),
    writer: String(writer),
    body: String(body),
    sum: Number(sum),
    summary: String(summary),
  };
}

/** Makes the tables where there are none. @throws {JournalError} "newer" and "foreign". */
async function prepared(query: Query, prefix: string): Promise<void> {
  const look = `SELECT to_regclass($1)::text AS found, obj_description(to_regclass($1), 'pg_class') AS comment,
    to_regprocedure($2)::text AS ready`;
  const values = [`${prefix}_runs`, `${appendName(prefix)}(json)`];
  let [state] = await query(look, values);
  if (state?.["found"] == null || (state["ready"] == null && versionIn(state["comment"]) === 1)) {
    await query(schemaStatement(prefix));
    [state] = await query(look, values);
  }
  const version = versionIn(state?.["comment"]);
  if (version === 1) return;
  const isNewer = version !== undefined && version > 1;
  const message = isNewer
    ? `The tables ${prefix}_runs and ${prefix}_frames are of version ${version}; this package reads version 1.`
    : `The table ${prefix}_runs is not a journal's: choose another prefix.`;
  throw new JournalError(message, { reason: isNewer ? "newer" : "foreign" });
}

/** Waits between two tries, in milliseconds, after a connection was lost. */
const waitsMs = [50, 250, 1_000];

async function sent(client: PostgresClient, clock: Clock, text: string, values?: unknown[]): Promise<readonly Row[]> {
  for (let attempt = 0; ; attempt++) {
    try {
      const { rows } = await (values === undefined ? client.query(text) : client.query(text, values));
      return rows as readonly Row[];
    } catch (error) {
      const wait = isPassing(error) ? waitsMs[attempt] : undefined;
      if (wait === undefined) throw journalError(error);
      await clock.sleep(wait);
    }
  }
}

/**
 * Whether the same statement may work in a moment: the connection was lost or refused, the server starts or ends, or two
 * transactions waited for each other. Source: https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
function isPassing(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  if (typeof code !== "string") return typeof message === "string" && lostByPg.test(message);
  return passingCodes.test(code);
}

/** ENOENT: the socket file of a server that is being started again is not there. */
const passingCodes =
  /^(?:08...|57P0[123]|40001|40P01|ECONNRESET|ECONNREFUSED|ECONNABORTED|EPIPE|ENOENT|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN)$/u;

/** What `pg` says without a code. Source: packages/pg/lib/client.js and packages/pg-pool/index.js of node-postgres. */
const lostByPg =
  /^(?:Connection terminated(?: unexpectedly| due to connection timeout)?|timeout exceeded when trying to connect)$/u;

function journalError(error: unknown): Error {
  if (error instanceof ProvisoError) return error;
  const { code } = (error ?? {}) as { readonly code?: unknown };
  // 53100: the disk is full.
  const reason = code === "53100" ? "full" : "failed";
  return new JournalError(`The journal in Postgres failed: ${messageOf(error)}`, { reason, cause: error });
}
