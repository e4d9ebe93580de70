import { ProvisoError } from "@proviso/core";

/** Why a conversation cannot be used; the `reason` of a ConversationError. */
export type ConversationFault = "busy" | "lost" | "newer" | "unreadable";

/** A stored conversation cannot be used now, or not by this program. The message quotes no text of it. */
export class ConversationError extends ProvisoError {
  readonly code = "conversation";
  override readonly name = "ConversationError";
  /**
   * busy: another writer holds it, and nothing was begun · lost: another writer took it over, or it was deleted; nothing
   * of this writer was saved since · newer: a newer release saved it · unreadable: it is damaged or foreign, or a slice
   * of it is missing or does not fit. What cannot be read is left as it is.
   */
  readonly reason: ConversationFault;
  /** The id of the conversation; undefined for JSON that came from no store. */
  readonly conversationId: string | undefined;
  /** When the other writer's lease ends, unless that writer renews it. Defined for "busy" alone. */
  readonly expiresAt: Date | undefined;
  constructor(
    message: string,
    details: {
      readonly reason: ConversationFault;
      readonly conversationId?: string | undefined;
      readonly expiresAt?: Date | undefined;
      readonly cause?: unknown;
    },
  ) {
    super(message, details);
    this.reason = details.reason;
    this.conversationId = details.conversationId;
    this.expiresAt = details.expiresAt;
  }
}
