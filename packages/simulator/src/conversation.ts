import { createHash } from "node:crypto";
import type { SimulatedRequest } from "./types.ts";

/**
 * Returns a key for a conversation at this turn: all its messages, without ids, which depend on what else the simulator
 * answered. A request that is sent again has the same key.
 */
export function conversationKey({ api, model, system, messages }: SimulatedRequest): string {
  const turns = messages.map(({ role, text, files = [], toolCalls }) => [
    role,
    text,
    ...files.map(({ hash, url, id }) => [hash ?? url ?? id]),
    ...toolCalls.map(({ name, arguments: given }) => [name, given]),
  ]);
  return createHash("sha256")
    .update(JSON.stringify([api, model, system, turns]))
    .digest("base64url");
}

/** Counts by key; the oldest keys are forgotten beyond `most`. */
export interface Counts {
  get(key: string): number;
  set(key: string, count: number): void;
}

export function recentCounts(most = 10_000): Counts {
  const counts = new Map<string, number>();
  return {
    get: (key) => counts.get(key) ?? 0,
    set: (key, count) => {
      counts.delete(key);
      if (count === 0) return;
      counts.set(key, count);
      const [oldest] = counts.size > most ? counts.keys() : [];
      if (oldest !== undefined) counts.delete(oldest);
    },
  };
}
