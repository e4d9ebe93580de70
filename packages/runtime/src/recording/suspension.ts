// What suspended runs wait for, and what was decided: read from a record.
import type { Pending } from "@proviso/core";
import { sha256 } from "@proviso/core/internal";
import { systemSecret } from "../environment.ts";
import type { AskedOf, EntryOf, JournalEntry, SuspendedCall } from "./entries.ts";

/** Returns the calls of a record that have no end, and for which a run was suspended; the last one last. */
export function suspendedCalls(entries: readonly JournalEntry[]): readonly SuspendedCall[] {
  return suspensionsIn(entries, true);
}

/** Returns the calls for which a run was suspended, also those that have an end. */
export function suspendedEver(entries: readonly JournalEntry[]): readonly SuspendedCall[] {
  return suspensionsIn(entries, false);
}

function suspensionsIn(entries: readonly JournalEntry[], isOpen: boolean): readonly SuspendedCall[] {
  const own = entries[0]?.evaluationId;
  const calls = new Map<string, SuspendedCall>();
  const ended = (callId: string): void => {
    for (const [key, call] of Array.from(calls)) {
      if (call.callId === callId && call.key === undefined) calls.delete(key);
    }
  };
  for (const entry of entries) {
    if (entry.evaluationId !== own) continue;
    if (entry.kind === "suspended") {
      const { turn, policy, step, key, tokenHash, pending } = entry;
      const asked = { turn, callId: pending.callId, policy, step, key };
      const before = calls.get(keyOf(asked));
      const tokens = [...(before?.tokens ?? []), tokenHash];
      calls.delete(keyOf(asked));
      calls.set(keyOf(asked), { ...asked, pending: before?.pending ?? pending, tokens, decision: before?.decision });
    } else if (entry.kind === "resolved") {
      const call = calls.get(keyOf(entry));
      if (call !== undefined) calls.set(keyOf(entry), { ...call, decision: entry.decision });
    } else if (!isOpen) {
      continue;
    } else if (entry.kind === "answered" && entry.answer.failure === undefined) {
      // What was to be run again as a whole has ended.
      for (const [key, call] of Array.from(calls)) if (call.key !== undefined) calls.delete(key);
    } else if (entry.kind === "started") {
      // The decision has let it run once more. What may have become of that is another question.
      for (const [key, call] of Array.from(calls)) {
        const isOfEffect = call.step === "unknown" && call.callId === entry.callId && call.turn === entry.turn;
        if (isOfEffect) calls.delete(key);
      }
    } else if (entry.kind === "committed") entry.callIds.forEach(ended);
    // A success counts when it is committed; until then its call may be run again.
    else if (entry.kind === "event" && entry.event.type === "tool.invoked" && !entry.event.result.success) {
      ended(entry.event.callId);
    }
  }
  return [...calls.values()];
}

/**
 * Returns entries of a record with the decisions on their calls, in their places. `all`: the whole record, where those of
 * attempts that were not gone on from are, too.
 */
export function withDecisions(entries: readonly JournalEntry[], all: readonly JournalEntry[]): readonly JournalEntry[] {
  const ends = entries.flatMap((entry) => {
    if (entry.kind !== "event" || entry.event.type !== "tool.invoked") return [];
    return entry.evaluationId === all[0]?.evaluationId ? [{ index: entry.index, event: entry.event }] : [];
  });
  const known = new Set(entries);
  const decisions = all.filter((entry) => {
    if ((entry.kind !== "suspended" && entry.kind !== "resolved") || known.has(entry)) return false;
    const callId = entry.kind === "suspended" ? entry.pending.callId : entry.callId;
    // A call inside of another one is known by its key, and has the turn of the evaluation there.
    return ends.some(({ index, event }) => {
      if (index <= entry.index) return false;
      return entry.key !== undefined || (event.callId === callId && event.turn === entry.turn);
    });
  });
  return decisions.length === 0 ? entries : [...entries, ...decisions].toSorted((a, b) => a.index - b.index);
}

function keyOf({ turn, callId, policy, step, key }: AskedOf): string {
  return JSON.stringify(key === undefined ? [turn, callId, policy, step] : [key, policy, step]);
}

/** Finds what is known of a question. */
export function suspendedCall(calls: readonly SuspendedCall[], asked: AskedOf): SuspendedCall | undefined {
  const key = keyOf(asked);
  return calls.find((call) => keyOf(call) === key);
}

/** Whether the time for the decision has passed. `now`: epoch milliseconds. */
export function isExpired({ pending, decision }: SuspendedCall, now: number): boolean {
  return decision === undefined && pending.expiresAt !== undefined && now >= pending.expiresAt;
}

/** What is waited for, for users. */
export function pendingOf({ expiresAt, ...pending }: EntryOf<"suspended">["pending"], token: string): Pending {
  return Object.freeze({
    token,
    ...pending,
    ...(expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt) }),
  });
}

/** Makes a token: 128 random bits, and the id of its run, so that a journal finds the run. */
export function newToken(runId: string): string {
  return `${base64url(systemSecret())}.${base64url(new TextEncoder().encode(runId))}`;
}

/** undefined: no token names a run so. */
export function runOfToken(token: unknown): string | undefined {
  const [, id] = /^[\w-]{22}\.([\w-]+)$/.exec(typeof token === "string" ? token : "") ?? [];
  if (id === undefined) return undefined;
  try {
    const binary = atob(id.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** What a record keeps of a token: its SHA-256. */
export function hashOfToken(token: string): string {
  return sha256(token, "base64url");
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
