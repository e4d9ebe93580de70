// What a provider reports of its usage, as numbers that a record can hold.
import type { ReportedUsage, Usage } from "@proviso/core";
import { noUsage } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";

const names = [...Object.keys(noUsage), "costUsd", "unpricedTokens"];

/**
 * The finite numbers of what is reported. Where another value stands for one, the usage is marked as an estimate; null counts
 * as left out. undefined: nothing is reported.
 */
export function readUsage(given: unknown): ReportedUsage | undefined {
  if (!isRecord(given)) return undefined;
  const read: Record<string, number | true> = {};
  for (const name of names) {
    const value = valueOf(given, name);
    if (typeof value === "number" && Number.isFinite(value)) read[name] = value;
    else if (value !== undefined && value !== null && value !== false) read["estimated"] = true;
  }
  return Object.values(read).some((value) => typeof value === "number") ? (read as Partial<Usage>) : undefined;
}

/** A field that throws has its error as its value, which is no number. */
function valueOf(given: Readonly<Record<string, unknown>>, name: string): unknown {
  try {
    return given[name];
  } catch (error) {
    return error;
  }
}
