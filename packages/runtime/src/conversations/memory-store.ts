import { systemClock, type Clock } from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import {
  conversationId,
  conversationQuery,
  type ConversationStore,
  type ListedConversation,
  type StoredConversation,
} from "./store.ts";

interface Lease {
  readonly token: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** Keeps conversations in memory, for tests and programs of one process; they are gone with it. */
export function memoryConversations(options: { readonly clock?: Clock | undefined } = {}): ConversationStore {
  checkOptionNames("memoryConversations", options, { clock: true });
  const { clock = systemClock } = options;
  const stored = new Map<string, StoredConversation>();
  const leases = new Map<string, Lease>();
  const hasLease = (id: string, token: string): boolean => leases.get(id)?.token === token;
  const lend = (id: string, token: string, leaseMs: number): void =>
    void leases.set(id, { token, expiresAt: clock.now() + leaseMs });
  return Object.freeze<ConversationStore>({
    name: "memory",
    async load(id) {
      return stored.get(conversationId(id));
    },
    async acquire(id, { token, leaseMs }) {
      const held = leases.get(conversationId(id));
      if (held !== undefined && held.token !== token && held.expiresAt > clock.now()) {
        return { ok: false, expiresAt: new Date(held.expiresAt) };
      }
      lend(id, token, leaseMs);
      return { ok: true, stored: stored.get(id) };
    },
    async renew(id, { token, leaseMs }) {
      if (!hasLease(conversationId(id), token)) return false;
      lend(id, token, leaseMs);
      return true;
    },
    async save(id, { token, revision, body }) {
      if (!hasLease(conversationId(id), token)) return false;
      if (revision !== (stored.get(id)?.revision ?? 0) + 1) return false;
      stored.set(id, Object.freeze({ revision, savedAt: new Date(clock.now()), body }));
      return true;
    },
    async release(id, token) {
      if (hasLease(conversationId(id), token)) leases.delete(id);
    },
    async delete(id) {
      leases.delete(conversationId(id));
      return stored.delete(id);
    },
    async list(query) {
      const { prefix, after, limit } = conversationQuery(query);
      return [...stored]
        .filter(([id]) => id.startsWith(prefix) && (after === "" || byCodePoints(id, after) > 0))
        .toSorted(([a], [b]) => byCodePoints(a, b))
        .slice(0, limit)
        .map(([id, { revision, savedAt }]): ListedConversation => ({ id, revision, savedAt }));
    },
  });
}

/** The order of databases. Texts are compared by UTF-16 units otherwise, which puts 😀 before some single ones. */
function byCodePoints(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)];
  const at = left.findIndex((char, index) => char !== right[index]);
  if (at === -1) return left.length - right.length;
  return (left[at]?.codePointAt(0) ?? 0) - (right[at]?.codePointAt(0) ?? -1);
}
