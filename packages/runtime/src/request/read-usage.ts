// What a provider reports of its usage, as numbers that a record can hold.
import type { ReportedUsage, Usage } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";

const counts: readonly (keyof ReportedUsage)[] = [
  "inputTokens",
  "outputTokens",
  "totalTokens",
  "cachedInputTokens",
  "cacheWriteTokens",
  "reasoningTokens",
  "costUsd",
  "unpricedTokens",
];

/** The finite numbers of what is reported. Where anything else stands for a number, the usage is marked as an estimate. */
export function readUsage(given: unknown): ReportedUsage | undefined {
  if (!isRecord(given)) return undefined;
  const reported = given as Partial<Usage>;
  const read: { -readonly [K in keyof Usage]?: Usage[K] } = {};
  for (const name of counts) {
    const value = valueOf(reported, name);
    if (typeof value === "number" && Number.isFinite(value)) read[name] = value;
    else if (value !== undefined && value !== null) read.estimated = true;
  }
  if (valueOf(reported, "estimated") === true) read.estimated = true;
  return read;
}

/** A field that throws has its error as its value, which is no number. */
function valueOf(given: Partial<Usage>, name: keyof Usage): unknown {
  try {
    return given[name];
  } catch (error) {
    return error;
  }
}
