import { DefinitionError } from "@proviso/core";
import { checkedId, describeValue } from "@proviso/core/internal";

/** A conversation as a store keeps it. */
export interface StoredConversation {
  /** How often it was saved; 1 after the first time. */
  readonly revision: number;
  /** When it was saved. */
  readonly savedAt: Date;
  /** The JSON text of what `saveConversation` returns. */
  readonly body: string;
}

/** A conversation in a list. */
export interface ListedConversation extends Omit<StoredConversation, "body"> {
  /** The id of the conversation. */
  readonly id: string;
}

/** Chooses the conversations that `list` returns. */
export interface ConversationQuery {
  /** Only ids that begin so. Default: all. */
  readonly prefix?: string | undefined;
  /** Only ids behind this one: the last of the page before. Default: from the first on. */
  readonly after?: string | undefined;
  /** How many at most. Default 100. */
  readonly limit?: number | undefined;
}

/** The right to write a conversation, for a time. */
export interface ConversationLease {
  /** Names the writer; no other one has ever had it. */
  readonly token: string;
  /** How long the lease holds from now on, in milliseconds. */
  readonly leaseMs: number;
}

/** What a store answers to one that wants to write. */
export type AcquiredConversation =
  | {
      readonly ok: true;
      /** What is stored; undefined: nothing was saved so far. */
      readonly stored: StoredConversation | undefined;
    }
  | {
      readonly ok: false;
      /** When the lease of the other writer ends. */
      readonly expiresAt: Date;
    };

/**
 * Where conversations are kept: `memoryConversations()`, `sqliteConversations(path)` of @proviso/node, or one of your own.
 * Each method happens as a whole or not at all, also between several processes. Ids are what `conversationId` accepts; two
 * ids that differ in any character are two conversations.
 */
export interface ConversationStore {
  /** Names the store in errors. */
  readonly name: string;
  /** Returns what is stored, also while a writer has it; undefined where nothing was saved. */
  load(id: string): Promise<StoredConversation | undefined>;
  /** Gives the lease to this writer, unless another one has it and it has not expired. The same token gets it again. */
  acquire(id: string, lease: ConversationLease): Promise<AcquiredConversation>;
  /** Lets the lease hold for `leaseMs` from now on. Returns false where the writer has it no more. */
  renew(id: string, lease: ConversationLease): Promise<boolean>;
  /**
   * Saves. Returns false, and changes nothing, where the lease is not the token's any more, or the revision is not the one
   * behind what is stored. A lease that has expired is the token's until another writer takes it.
   */
  save(
    id: string,
    saved: {
      /** The token of the writer's lease. */
      readonly token: string;
      /** The revision that this makes: 1 for the first. */
      readonly revision: number;
      /** The JSON text. */
      readonly body: string;
    },
  ): Promise<boolean>;
  /** Ends the lease, where it is the token's. */
  release(id: string, token: string): Promise<void>;
  /** Removes the conversation and any lease of it. Returns whether there was one. */
  delete(id: string): Promise<boolean>;
  /** Returns the conversations in the order of their ids, by code points. */
  list(query?: ConversationQuery): Promise<readonly ListedConversation[]>;
}

/** UTF-16 units of an id. */
const longestId = 512;
/** How many `list` returns without a limit. */
const usualLimit = 100;

/**
 * Returns the id, where it is one: a text of 1 to 512 UTF-16 units without control characters and half surrogate pairs.
 * Stores call it, so that each of them takes the same ids.
 * @throws {DefinitionError} for anything else.
 */
export function conversationId(id: unknown): string {
  return checkedId("conversation", id, longestId);
}

/**
 * Returns the query with nothing left out, for stores.
 * @throws {DefinitionError} for a limit that is no positive whole number, and texts that cannot stand in an id.
 */
export function conversationQuery(given: ConversationQuery = {}): {
  readonly prefix: string;
  readonly after: string;
  readonly limit: number;
} {
  const { prefix = "", after = "", limit = usualLimit } = given;
  if (prefix !== "") conversationId(prefix);
  if (after !== "") conversationId(after);
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new DefinitionError(`The limit of a list must be a positive whole number, not ${describeValue(limit)}.`);
  return { prefix, after, limit };
}
