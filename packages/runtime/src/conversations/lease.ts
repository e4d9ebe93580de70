// 1. A writer has one token, which no other writer has had: what it saves after it lost its lease is refused.
// 2. The lease is renewed at each third of its time. A store that fails then is asked again.
import type { Clock } from "@proviso/core";
import { setAlarm } from "@proviso/core/internal";
import { onAbort } from "../abort.ts";
import { partOf } from "../request/backoff.ts";
import { ConversationError } from "./conversation-error.ts";
import type { ConversationLease, ConversationStore, StoredConversation } from "./store.ts";

/** Milliseconds of the first wait for another writer, and of the longest. */
const firstPauseMs = 10;
const longestPauseMs = 250;

/** What a writer has while it holds a conversation. */
export interface HeldLease {
  readonly token: string;
  readonly stored: StoredConversation | undefined;
  /** Fires with a ConversationError "lost", or with the reason of the caller's signal. */
  readonly signal: AbortSignal;
  /** Says that another writer has the lease, and returns the error. */
  lose(): ConversationError;
  /** The error, where the lease is lost. */
  lost(): ConversationError | undefined;
  /** Ends the lease. Never rejects: a lease that could not be ended expires. */
  release(): Promise<void>;
}

export interface LeaseWish extends ConversationLease {
  readonly waitMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal | undefined;
}

/** @throws {ConversationError} "busy"; the reason of the signal, where that fires first. */
export async function acquireLease(store: ConversationStore, id: string, wish: LeaseWish): Promise<HeldLease> {
  const { token, signal } = wish;
  const stored = await waitFor(store, id, wish);
  const ending = new AbortController();
  let lost: ConversationError | undefined;
  const lose = (): ConversationError => {
    lost ??= new ConversationError(
      `Another writer has taken over the conversation ${JSON.stringify(id)}, or it was deleted: nothing was saved.`,
      { reason: "lost", conversationId: id },
    );
    ending.abort(lost);
    return lost;
  };
  const stopListening = onAbort(signal, (reason) => ending.abort(reason));
  const stopRenewing = renewing(store, id, wish, lose);
  return {
    token,
    stored,
    signal: ending.signal,
    lose,
    lost: () => lost,
    async release() {
      stopListening();
      stopRenewing();
      try {
        await store.release(id, token);
      } catch {}
    },
  };
}

async function waitFor(
  store: ConversationStore,
  id: string,
  { token, leaseMs, waitMs, clock, random, signal }: LeaseWish,
): Promise<StoredConversation | undefined> {
  let leftMs = waitMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    signal?.throwIfAborted();
    const acquired = await store.acquire(id, { token, leaseMs });
    if (acquired.ok) return acquired.stored;
    if (leftMs <= 0) throw busy(id, acquired.expiresAt);
    // Two that wait for one conversation do not ask in step.
    const restMs = Math.min(leftMs, pauseMs * (0.5 + partOf(random()) / 2));
    const restsAt = clock.now();
    await clock.sleep(restMs, signal);
    // A clock that was set back makes the wait no longer.
    leftMs -= Math.max(restMs, clock.now() - restsAt);
  }
}

function busy(id: string, expiresAt: Date): ConversationError {
  return new ConversationError(
    `Another writer has the conversation ${JSON.stringify(id)}: try again later, or wait with waitMs.`,
    { reason: "busy", conversationId: id, expiresAt },
  );
}

/** Returns what ends it. */
function renewing(
  store: ConversationStore,
  id: string,
  { token, leaseMs, clock }: LeaseWish,
  lose: () => void,
): () => void {
  let isOver = false;
  let stopAlarm = (): void => {};
  const setNext = (): void => {
    stopAlarm = setAlarm(clock, leaseMs / 3, () => {
      void isStillHeld().then((isHeld) => {
        if (isOver) return;
        if (isHeld) setNext();
        else lose();
      });
    });
  };
  // A store may throw where it should reject.
  const isStillHeld = async (): Promise<boolean> => {
    try {
      return await store.renew(id, { token, leaseMs });
    } catch {
      return true;
    }
  };
  setNext();
  return () => {
    isOver = true;
    stopAlarm();
  };
}
