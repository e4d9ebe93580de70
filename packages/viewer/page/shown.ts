// How texts, times and numbers are shown. Texts are others': what could hide or turn them is written out.
import type { Usage } from "@proviso/core";
import { escapeUnseen } from "@proviso/core/internal";

/** Returns a text with all that cannot be seen written out. */
export function visible(text: string): string {
  return escapeUnseen(text, (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Returns a text in one line. */
export function oneLine(text: string): string {
  return visible(text.replaceAll("\n", "⏎ ").replaceAll("\t", " "));
}

/** Returns JSON with an indent of two; a text as it is. */
export function pretty(value: unknown): string {
  return visible(typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? "undefined"));
}

export function clockTime(at: number): string {
  const time = new Date(at);
  const isToday = time.toDateString() === new Date().toDateString();
  const clock = time.toLocaleTimeString("en-GB");
  return isToday ? clock : `${time.toLocaleDateString("en-CA")} ${clock}`;
}

export function duration(ms: number | undefined): string {
  if (ms === undefined) return "";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} min`;
}

export function count(n: number): string {
  return n.toLocaleString("en-US");
}

export function dollars(cost: number | undefined): string {
  if (cost === undefined) return "";
  return cost === 0 || cost >= 0.01 ? cost.toFixed(2) : cost.toPrecision(2);
}

/** What a usage has cost; at least that, where not all of it has a price. */
export function costOf({ costUsd, unpricedTokens }: Pick<Usage, "costUsd" | "unpricedTokens">): string {
  return costUsd === undefined || unpricedTokens === undefined ? dollars(costUsd) : `≥ ${dollars(costUsd)}`;
}
