import type { AttemptKey } from "./results.ts";

/** Names an attempt by one text. The length keeps two names apart that are one when they are joined. */
export function keyOf({ rowId, variant, repetition }: AttemptKey): string {
  return `${rowId.length} ${repetition} ${rowId}${variant}`;
}
