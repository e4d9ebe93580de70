// Each function is one transaction.
import type {
  AcquiredConversation,
  ConversationLease,
  conversationQuery,
  ConversationStore,
  ListedConversation,
  StoredConversation,
} from "@proviso/runtime";
import type { DatabaseSync } from "node:sqlite";
import { inTransaction } from "./sqlite-rows.ts";

/** What a store of conversations does to its file; `now` is in epoch milliseconds. Each throws what SQLite throws. */
export interface ConversationRows {
  load(id: string): StoredConversation | undefined;
  acquire(id: string, lease: ConversationLease, now: number): AcquiredConversation;
  renew(id: string, lease: ConversationLease, now: number): boolean;
  save(id: string, saved: Parameters<ConversationStore["save"]>[1], now: number): boolean;
  release(id: string, token: string): void;
  delete(id: string): boolean;
  list(query: ReturnType<typeof conversationQuery>): readonly ListedConversation[];
}

/** The columns of both tables are strict. */
interface Row {
  readonly id: string;
  readonly revision: number;
  readonly saved_at: number;
  readonly body: string;
}
interface LeaseRow {
  readonly token: string;
  readonly expires_at: number;
}

function statementsOf(database: DatabaseSync) {
  return {
    one: database.prepare("SELECT revision, saved_at, body FROM conversations WHERE id = ?"),
    revision: database.prepare("SELECT revision FROM conversations WHERE id = ?"),
    lease: database.prepare("SELECT token, expires_at FROM leases WHERE id = ?"),
    lend: database.prepare("INSERT OR REPLACE INTO leases (id, token, expires_at) VALUES (?, ?, ?)"),
    extend: database.prepare("UPDATE leases SET expires_at = ? WHERE id = ? AND token = ?"),
    end: database.prepare("DELETE FROM leases WHERE id = ? AND token = ?"),
    keep: database.prepare(
      `INSERT INTO conversations (id, revision, saved_at, body) VALUES (?, ?, ?, ?) ON CONFLICT (id)
       DO UPDATE SET revision = excluded.revision, saved_at = excluded.saved_at, body = excluded.body`,
    ),
    remove: database.prepare("DELETE FROM conversations WHERE id = ?"),
    free: database.prepare("DELETE FROM leases WHERE id = ?"),
    page: database.prepare(
      `SELECT id, revision, saved_at FROM conversations
       WHERE id > ? AND id >= ? AND (? IS NULL OR id < ?) ORDER BY id LIMIT ?`,
    ),
  };
}

export function conversationRows(database: DatabaseSync): ConversationRows {
  const { one, revision, lease, lend, extend, end, keep, remove, free, page } = statementsOf(database);
  const leaseOf = (id: string): LeaseRow | undefined => lease.get(id) as LeaseRow | undefined;
  const load = (id: string): StoredConversation | undefined => {
    const row = one.get(id) as Row | undefined;
    return row && { revision: row.revision, savedAt: new Date(row.saved_at), body: row.body };
  };
  return {
    load,
    acquire: (id, { token, leaseMs }, now) =>
      inTransaction(database, () => {
        const held = leaseOf(id);
        if (held !== undefined && held.token !== token && held.expires_at > now) {
          return { ok: false, expiresAt: new Date(held.expires_at) };
        }
        lend.run(id, token, Math.ceil(now + leaseMs));
        return { ok: true, stored: load(id) };
      }),
    renew: (id, { token, leaseMs }, now) => extend.run(Math.ceil(now + leaseMs), id, token).changes === 1,
    save: (id, { token, revision: next, body }, now) =>
      inTransaction(database, () => {
        if (leaseOf(id)?.token !== token) return false;
        const last = (revision.get(id) as Pick<Row, "revision"> | undefined)?.revision ?? 0;
        if (next !== last + 1) return false;
        keep.run(id, next, Math.floor(now), body);
        return true;
      }),
    release: (id, token) => void end.run(id, token),
    delete: (id) =>
      inTransaction(database, () => {
        free.run(id);
        return remove.run(id).changes === 1;
      }),
    list({ prefix, after, limit }) {
      const behind = behindPrefix(prefix);
      return page.all(after, prefix, behind, behind, limit).map((row): ListedConversation => {
        const { id, revision: number, saved_at: savedAt } = row as unknown as Omit<Row, "body">;
        return { id, revision: number, savedAt: new Date(savedAt) };
      });
    },
  };
}

/** The least text behind all that begin with the prefix; null: there is none. */
function behindPrefix(prefix: string): string | null {
  const points = Array.from(prefix, (char) => char.codePointAt(0) ?? 0);
  while (points.length > 0) {
    const last = points.pop() ?? 0;
    if (last === 0x10ffff) continue;
    // Halves of surrogate pairs are no characters.
    return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
  }
  return null;
}
